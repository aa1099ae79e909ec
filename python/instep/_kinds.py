"""The kinds of documents that the standard defines, a class for each."""

from __future__ import annotations

from typing import Iterable, Optional

from ._documents import Document, _Interval, _Snapshot, _Untimed
from ._native import Entry, Header, Link
from ._reading import read
from ._sources import Readable

__all__ = [
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
    "SourceDescription",
    "SourceDescriptionIndex",
    "load",
]


class SourceDescription(Document):
    """A Source Description (§8): the Capability Lists of a Source.

    >>> import instep
    >>> description = instep.SourceDescription()
    >>> description.add_capability_list("http://example.com/caps.xml", describedby="http://example.com/about.html")
    >>> description[0].link("describedby").href
    'http://example.com/about.html'
    """

    capability = "description"

    def __init__(self, entries: Iterable[Entry] = (), *, links: Iterable[Link] = ()) -> None:
        super().__init__(self._root(None, links), entries)

    def add_capability_list(self, location: str, *, describedby: Optional[str] = None) -> None:
        """Add the Capability List of a set of resources, and a description of the set."""
        links = () if describedby is None else (Link("describedby", describedby),)
        self.append(Entry(location, capability="capabilitylist", links=links))


class SourceDescriptionIndex(Document):
    """A Source Description Index (§8): the parts of a Source Description."""

    capability = "description"
    is_index = True

    def __init__(self, entries: Iterable[Entry] = (), *, links: Iterable[Link] = ()) -> None:
        super().__init__(self._root(None, links), entries)


class CapabilityList(_Untimed):
    """A Capability List (§9): the capabilities of one set of resources.

    >>> import instep
    >>> capabilities = instep.CapabilityList(up="http://example.com/.well-known/resourcesync")
    >>> capabilities.add_capability("resourcelist", "http://example.com/resourcelist.xml")
    >>> capabilities.location("resourcelist")
    'http://example.com/resourcelist.xml'
    """

    capability = "capabilitylist"

    def add_capability(self, capability: str, location: str) -> None:
        """Add a capability and the URI of its document."""
        self.append(Entry(location, capability=capability))

    def location(self, capability: str) -> Optional[str]:
        """Return the URI of a capability's document; ``None`` if it is not offered."""
        return next((entry.loc for entry in self if entry.capability == capability), None)


class CapabilityListIndex(_Untimed):
    """A Capability List Index (§9): the parts of a Capability List."""

    capability = "capabilitylist"
    is_index = True


class ResourceList(_Snapshot):
    """A Resource List (§10.1): the state of a set of resources as of ``at``.

    >>> import instep
    >>> resources = instep.ResourceList(at="2013-01-03T09:00:00Z", up="http://example.com/caps.xml")
    >>> resources.append(instep.Entry("http://example.com/res1", length=8876))
    >>> instep.ResourceList.read(resources.to_xml().encode()) == resources
    True
    """

    capability = "resourcelist"


class ResourceListIndex(_Snapshot):
    """A Resource List Index (§10.2): its members together are one Resource List."""

    capability = "resourcelist"
    is_index = True


class ResourceDump(_Snapshot):
    """A Resource Dump (§11.1): packages that together hold all resources."""

    capability = "resourcedump"


class ResourceDumpIndex(_Snapshot):
    """A Resource Dump Index (§11.1): the parts of a Resource Dump."""

    capability = "resourcedump"
    is_index = True


class ResourceDumpManifest(_Snapshot):
    """A Resource Dump Manifest (§11.2): the bitstreams of a package."""

    capability = "resourcedump-manifest"


class ResourceDumpManifestIndex(_Snapshot):
    """A Resource Dump Manifest Index: the parts of a manifest."""

    capability = "resourcedump-manifest"
    is_index = True


class ChangeList(_Interval):
    """A Change List (§12.1): the changes of an interval, oldest first.

    >>> import instep
    >>> changes = instep.ChangeList(from_="2013-01-03T00:00:00Z", up="http://example.com/caps.xml")
    >>> changes.append(instep.Entry("http://example.com/res1", change="updated", datetime="2013-01-03T11:00:00Z"))
    >>> changes.is_closed, changes[0].change
    (False, 'updated')
    """

    capability = "changelist"


class ChangeListIndex(_Interval):
    """A Change List Index (§12.2): Change Lists, oldest first."""

    capability = "changelist"
    is_index = True


class ChangeDump(_Interval):
    """A Change Dump (§13.1): packages that hold the changed resources of an interval."""

    capability = "changedump"


class ChangeDumpIndex(_Interval):
    """A Change Dump Index (§13.1): the parts of a Change Dump."""

    capability = "changedump"
    is_index = True


class ChangeDumpManifest(_Interval):
    """A Change Dump Manifest (§13.2): the changes and bitstreams of a package."""

    capability = "changedump-manifest"


class ChangeDumpManifestIndex(_Interval):
    """A Change Dump Manifest Index: the parts of a manifest."""

    capability = "changedump-manifest"
    is_index = True


class ResourceListArchive(_Untimed):
    """A Resource List Archive: Resource Lists of the past."""

    capability = "resourcelist-archive"


class ResourceListArchiveIndex(_Untimed):
    """A Resource List Archive Index: the parts of an archive."""

    capability = "resourcelist-archive"
    is_index = True


class ResourceDumpArchive(_Untimed):
    """A Resource Dump Archive: Resource Dumps of the past."""

    capability = "resourcedump-archive"


class ResourceDumpArchiveIndex(_Untimed):
    """A Resource Dump Archive Index: the parts of an archive."""

    capability = "resourcedump-archive"
    is_index = True


class ChangeListArchive(_Untimed):
    """A Change List Archive: Change Lists of the past."""

    capability = "changelist-archive"


class ChangeListArchiveIndex(_Untimed):
    """A Change List Archive Index: the parts of an archive."""

    capability = "changelist-archive"
    is_index = True


class ChangeDumpArchive(_Untimed):
    """A Change Dump Archive: Change Dumps of the past."""

    capability = "changedump-archive"


class ChangeDumpArchiveIndex(_Untimed):
    """A Change Dump Archive Index: the parts of an archive."""

    capability = "changedump-archive"
    is_index = True


_KINDS: tuple[type[Document], ...] = (
    SourceDescription,
    SourceDescriptionIndex,
    CapabilityList,
    CapabilityListIndex,
    ResourceList,
    ResourceListIndex,
    ResourceDump,
    ResourceDumpIndex,
    ResourceDumpManifest,
    ResourceDumpManifestIndex,
    ChangeList,
    ChangeListIndex,
    ChangeDump,
    ChangeDumpIndex,
    ChangeDumpManifest,
    ChangeDumpManifestIndex,
    ResourceListArchive,
    ResourceListArchiveIndex,
    ResourceDumpArchive,
    ResourceDumpArchiveIndex,
    ChangeListArchive,
    ChangeListArchiveIndex,
    ChangeDumpArchive,
    ChangeDumpArchiveIndex,
)


def kind_of(header: Header) -> type[Document]:
    """Return the class of documents with a header; :class:`Document` for a capability that the standard does not know."""
    return next((kind for kind in _KINDS if kind.accepts(header)), Document)


def load(source: Readable, *, base: Optional[str] = None, timeout: float = 30.0) -> Document:
    """Read a document of any kind as a whole. Its class is the kind that its root states.

    A plain Sitemap is a Resource List. The arguments and exceptions are those of :func:`read`.

    >>> import instep
    >>> xml = instep.CapabilityList(up="http://example.com/.well-known/resourcesync").to_xml()
    >>> isinstance(instep.load(xml.encode()), instep.CapabilityList)
    True
    """
    with read(source, base=base, timeout=timeout) as reader:
        kind = kind_of(reader.header)
        document = kind.__new__(kind)
        Document.__init__(document, reader.header, reader)
        document.header, document.findings = reader.header, tuple(reader.take_findings())
    return document
