"""ResourceSync in Python: read, write and check documents; publish a folder, and keep verified mirrors of others.

Reading a list of any size, entry by entry:

>>> import instep
>>> xml = b'''<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
...     xmlns:rs="http://www.openarchives.org/rs/terms/">
...   <rs:md capability="resourcelist" at="2013-01-03T09:00:00Z"/>
...   <url><loc>http://example.com/res1</loc><rs:md length="8876"/></url></urlset>'''
>>> for entry in instep.read(xml):          # also a path, a URL, or a file
...     print(entry.loc, entry.length)
http://example.com/res1 8876

Writing one:

>>> resources = instep.ResourceList(at="2013-01-03T09:00:00Z", up="http://example.com/caps.xml")
>>> resources.append(instep.Entry("http://example.com/res1", length=8876, type="text/html"))
>>> print(resources.to_xml())
<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
  <rs:ln rel="up" href="http://example.com/caps.xml"/>
  <rs:md capability="resourcelist" at="2013-01-03T09:00:00Z"/>
  <url>
    <loc>http://example.com/res1</loc>
    <rs:md length="8876" type="text/html"/>
  </url>
</urlset>
<BLANKLINE>

:func:`publish`, :func:`sync`, :func:`audit` and :func:`explore` run the program ``instep`` of the same wheel.
:mod:`instep.aio` has the same for ``asyncio``.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING as _TYPE_CHECKING

from ._commands import (
    AuditReport,
    Item,
    Problem,
    PublishReport,
    SyncReport,
    Tree,
    audit,
    explore,
    publish,
    sync,
)
from ._documents import Document, Time
from ._kinds import (
    CapabilityList,
    CapabilityListIndex,
    ChangeDump,
    ChangeDumpArchive,
    ChangeDumpArchiveIndex,
    ChangeDumpIndex,
    ChangeDumpManifest,
    ChangeDumpManifestIndex,
    ChangeList,
    ChangeListArchive,
    ChangeListArchiveIndex,
    ChangeListIndex,
    ResourceDump,
    ResourceDumpArchive,
    ResourceDumpArchiveIndex,
    ResourceDumpIndex,
    ResourceDumpManifest,
    ResourceDumpManifestIndex,
    ResourceList,
    ResourceListArchive,
    ResourceListArchiveIndex,
    ResourceListIndex,
    SourceDescription,
    SourceDescriptionIndex,
    load,
)
from ._native import DateTime, Entry, Finding, Header, Link, Member, Package, Reader, Report, Writer, __version__
from ._packages import PackageWriter
from ._program import Event, Option, Progress, program
from ._reading import read, validate, validate_package
from ._sources import FileLike, Readable
from .errors import (
    CommandError,
    DocumentError,
    FetchError,
    InstepError,
    InvalidSourceError,
    LimitError,
    LockedError,
    NewerStateError,
    PackageError,
    ProgramError,
    RefusedError,
    RunInterrupted,
    StorageError,
    UsageError,
)

if _TYPE_CHECKING:
    from . import aio as aio


def __getattr__(name: str) -> _ModuleType:
    # Imported when it is used: asyncio takes longer to import than everything else here.
    if name == "aio":
        return _import_module(".aio", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "AuditReport",
    "CapabilityList",
    "CapabilityListIndex",
    "ChangeDump",
    "ChangeDumpArchive",
    "ChangeDumpArchiveIndex",
    "ChangeDumpIndex",
    "ChangeDumpManifest",
    "ChangeDumpManifestIndex",
    "ChangeList",
    "ChangeListArchive",
    "ChangeListArchiveIndex",
    "ChangeListIndex",
    "CommandError",
    "DateTime",
    "Document",
    "DocumentError",
    "Entry",
    "Event",
    "FetchError",
    "FileLike",
    "Finding",
    "Header",
    "InstepError",
    "InvalidSourceError",
    "Item",
    "LimitError",
    "Link",
    "LockedError",
    "Member",
    "NewerStateError",
    "Option",
    "Package",
    "PackageError",
    "PackageWriter",
    "Problem",
    "ProgramError",
    "Progress",
    "PublishReport",
    "Readable",
    "Reader",
    "RefusedError",
    "Report",
    "ResourceDump",
    "ResourceDumpArchive",
    "ResourceDumpArchiveIndex",
    "ResourceDumpIndex",
    "ResourceDumpManifest",
    "ResourceDumpManifestIndex",
    "ResourceList",
    "ResourceListArchive",
    "ResourceListArchiveIndex",
    "ResourceListIndex",
    "RunInterrupted",
    "SourceDescription",
    "SourceDescriptionIndex",
    "StorageError",
    "SyncReport",
    "Time",
    "Tree",
    "UsageError",
    "Writer",
    "__version__",
    "audit",
    "explore",
    "load",
    "program",
    "publish",
    "read",
    "sync",
    "validate",
    "validate_package",
]
