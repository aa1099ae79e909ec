"""The names of the reference library ``resync`` 2.0.1, for programs that were written for it.

>>> from instep.compat.resync import Resource, ResourceList
>>> resources = ResourceList()
>>> resources.add(Resource("http://example.com/res1", lastmod="2013-01-01"))
>>> resources.add(Resource("http://example.com/res2", lastmod="2013-01-02", length=17))
>>> [(resource.uri, resource.lastmod) for resource in resources]
[('http://example.com/res1', '2013-01-01T00:00:00Z'), ('http://example.com/res2', '2013-01-02T00:00:00Z')]

A program is moved by its imports: ``from instep.compat.resync import ResourceList``. Documents are written as the
reference library writes them, relative URIs included; :mod:`instep` itself checks what it writes, and reads long lists
many times faster.
"""

from __future__ import annotations

__version__ = "2.0.1"

from .archives import ChangeDumpArchive, ChangeListArchive, ResourceDumpArchive, ResourceListArchive
from .capability_list import CapabilityList
from .change_dump import ChangeDump
from .change_dump_manifest import ChangeDumpManifest
from .change_list import ChangeList
from .resource import Resource
from .resource_dump import ResourceDump
from .resource_dump_manifest import ResourceDumpManifest
from .resource_list import ResourceList
from .source_description import SourceDescription

__all__ = [
    "CapabilityList",
    "ChangeDump",
    "ChangeDumpArchive",
    "ChangeDumpManifest",
    "ChangeList",
    "ChangeListArchive",
    "Resource",
    "ResourceDump",
    "ResourceDumpArchive",
    "ResourceDumpManifest",
    "ResourceList",
    "ResourceListArchive",
    "SourceDescription",
]
