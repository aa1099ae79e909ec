"""Typed documents: a header and entries, held as a whole."""

from __future__ import annotations

import gzip
import io
import os
from datetime import date
from typing import IO, Any, ClassVar, Iterable, Iterator, Optional, TypeVar, Union, overload

from ._files import replacing
from ._native import DateTime, Entry, Finding, Header, Link, Writer
from ._reading import read
from ._sources import Readable
from .errors import DocumentError

Time = Union[DateTime, str, date]
"""A time: a :class:`DateTime`, a text, an aware ``datetime.datetime``, or a ``datetime.date``."""

D = TypeVar("D", bound="Document")

_BATCH = 2048


class Document:
    """A document held as a whole: a header, and a list of entries.

    Each kind of document has a class of its own, whose arguments are what the standard requires of its root. One that is
    too large to hold is read with :func:`read` and written with :class:`Writer`.

    >>> import instep
    >>> document = instep.load(b"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'/>")
    >>> type(document).__name__, len(document)
    ('ResourceList', 0)
    """

    #: The value of the root's ``capability`` attribute; ``None`` for documents of any kind.
    capability: ClassVar[Optional[str]] = None
    #: ``True`` if the root is a ``sitemapindex``.
    is_index: ClassVar[bool] = False

    def __init__(self, header: Header, entries: Iterable[Entry] = ()) -> None:
        #: The metadata and links of the root.
        self.header = header
        #: The entries, in document order.
        self.entries: list[Entry] = list(entries)
        #: What was skipped, or not read as it is written; empty for a document that was not read.
        self.findings: tuple[Finding, ...] = ()

    @classmethod
    def accepts(cls, header: Header) -> bool:
        """Return ``True`` if a document with this header is of this kind."""
        if cls.capability is None:
            return True
        sitemap = cls.capability == "resourcelist" and header.capability is None
        return header.is_index == cls.is_index and (header.capability == cls.capability or sitemap)

    @classmethod
    def read(cls: type[D], source: Readable, *, base: Optional[str] = None, timeout: float = 30.0) -> D:
        """Read a document of this kind from a path, a URL, ``bytes`` or a file, as :func:`read` does.

        Raises :class:`DocumentError` if the document is of another kind.
        """
        with read(source, base=base, timeout=timeout) as reader:
            if not cls.accepts(reader.header):
                raise DocumentError(f"Expected a {cls.__name__}, found {reader.header!r}", "GEN-11")
            document = cls.__new__(cls)
            Document.__init__(document, reader.header, reader)
            document.header, document.findings = reader.header, tuple(reader.take_findings())
        return document

    def write(
        self,
        target: Union[str, "os.PathLike[str]", IO[bytes]],
        *,
        version: str = "1.1",
        plain: bool = False,
        checked: bool = True,
    ) -> None:
        """Write the document to a path or a file; a path that ends with ``.gz`` is compressed.

        ``version`` is the version that readers know; ``plain`` leaves out the extensions; with ``checked=False`` a
        document that breaks a *must* is written too. A document that is refused leaves a file at its path as it was. A
        link stays a link, and a file keeps its permissions.
        """
        if not isinstance(target, (str, os.PathLike)):
            self._write(target, version, plain, checked)
            return
        with replacing(target) as file:
            if not os.fspath(target).endswith(".gz"):
                self._write(file, version, plain, checked)
                return
            with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as compressed:
                self._write(compressed, version, plain, checked)

    def to_xml(self, *, version: str = "1.1", plain: bool = False, checked: bool = True) -> str:
        """Return the document as XML. The arguments are those of :meth:`write`."""
        file = io.BytesIO()
        self._write(file, version, plain, checked)
        return file.getvalue().decode()

    def _write(self, file: Any, version: str, plain: bool, checked: bool) -> None:
        with Writer(file, self.header, version=version, plain=plain, checked=checked) as writer:
            for start in range(0, len(self.entries), _BATCH):
                writer.write_batch(self.entries[start : start + _BATCH])

    def append(self, entry: Entry) -> None:
        """Add an entry at the end."""
        self.entries.append(_checked(entry))

    def extend(self, entries: Iterable[Entry]) -> None:
        """Add entries at the end, or none of them if one is no :class:`Entry`."""
        # Read to the end first: they may be those of this document.
        self.entries.extend([_checked(entry) for entry in entries])

    def link(self, rel: str) -> Optional[Link]:
        """Return the root's first link of a relation; ``None`` if there is none."""
        return self.header.link(rel)

    @property
    def links(self) -> tuple[Link, ...]:
        """The root's links."""
        return self.header.links

    @property
    def up(self) -> Optional[str]:
        """The URI of the document above: a Capability List or a Source Description."""
        return self._target("up")

    @property
    def index(self) -> Optional[str]:
        """The URI of the index that the document is a member of."""
        return self._target("index")

    @property
    def describedby(self) -> Optional[str]:
        """The URI of a description."""
        return self._target("describedby")

    def _target(self, rel: str) -> Optional[str]:
        link = self.header.link(rel)
        return None if link is None else link.href

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> list[Entry]: ...
    def __getitem__(self, index: Union[int, slice]) -> Union[Entry, list[Entry]]:
        return self.entries[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Document):
            return NotImplemented
        return self.header == other.header and self.entries == other.entries

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.entries)} entries>"

    @classmethod
    def _root(cls, up: Optional[str], links: Iterable[Link], **fields: Any) -> Header:
        above = () if up is None else (Link("up", up),)
        return Header(cls.capability, is_index=cls.is_index, links=(*above, *links), **fields)


def _checked(entry: Entry) -> Entry:
    if not isinstance(entry, Entry):
        raise TypeError(f"a document has entries of type Entry, not {type(entry).__name__}")
    return entry


class _Untimed(Document):
    """A document whose root has a link ``up`` and no time."""

    def __init__(self, entries: Iterable[Entry] = (), *, up: str, links: Iterable[Link] = ()) -> None:
        super().__init__(self._root(up, links), entries)


class _Snapshot(Document):
    """A document about the state as of a time."""

    def __init__(
        self,
        entries: Iterable[Entry] = (),
        *,
        at: Time,
        up: str,
        completed: Optional[Time] = None,
        links: Iterable[Link] = (),
    ) -> None:
        super().__init__(self._root(up, links, at=at, completed=completed), entries)

    @property
    def at(self) -> Optional[DateTime]:
        """The start of the snapshot."""
        return self.header.at

    @property
    def completed(self) -> Optional[DateTime]:
        """The end of the snapshot."""
        return self.header.completed


class _Interval(Document):
    """A document about the changes in an interval of time."""

    def __init__(
        self,
        entries: Iterable[Entry] = (),
        *,
        from_: Time,
        up: str,
        until: Optional[Time] = None,
        links: Iterable[Link] = (),
    ) -> None:
        super().__init__(self._root(up, links, from_=from_, until=until), entries)

    @property
    def from_(self) -> Optional[DateTime]:
        """The start of the interval."""
        return self.header.from_

    @property
    def until(self) -> Optional[DateTime]:
        """The end of the interval; ``None`` while the document is open."""
        return self.header.until

    @property
    def is_closed(self) -> bool:
        """``True`` if no change will be added: ``until`` is set, and means that. In a draft it is the end so far."""
        return self.header.until is not None and not self.header.is_draft
