"""Writing packages."""

from __future__ import annotations

import io
import os
from types import TracebackType
from typing import IO, Any, Optional, Union

from ._documents import Document
from ._native import PackageBuilder
from ._sources import FileLike

__all__ = ["PackageWriter"]


class PackageWriter:
    """Writes a package: the manifest first, then one bitstream after the other. Equal input gives equal bytes.

    ``target`` is a path, or a file that can seek. ``manifest`` names the bitstreams that will be added.

    >>> import io, instep
    >>> manifest = instep.ResourceDumpManifest([instep.Entry("http://example.com/res1", path="/res1")],
    ...     at="2013-01-03T09:00:00Z", up="http://example.com/caps.xml")
    >>> file = io.BytesIO()
    >>> with instep.PackageWriter(file, manifest) as package:
    ...     package.add("/res1", io.BytesIO(b"hello"), type="text/plain")
    >>> [member.name for member in instep.Package(file).members()]
    ['manifest.xml', 'res1']
    """

    def __init__(self, target: Union[str, "os.PathLike[str]", IO[bytes]], manifest: Document) -> None:
        self._own: Optional[IO[bytes]] = None
        file: Any = target
        if isinstance(target, (str, os.PathLike)):
            self._own = file = open(target, "wb")
        self._builder = PackageBuilder(file, manifest.to_xml().encode())

    def add(
        self,
        path: str,
        content: Union[bytes, FileLike],
        *,
        length: Optional[int] = None,
        type: Optional[str] = None,
    ) -> None:
        """Add a bitstream under the path that the manifest gives it.

        A file whose ``length`` is not given is read as a whole if it cannot seek. Media types that compress well are
        compressed.
        """
        if length is None and not isinstance(content, bytes):
            content, length = _measured(content)
        size = len(content) if isinstance(content, bytes) else length
        self._builder.add(path, content, size or 0, type)

    def close(self) -> None:
        """Write the directory of the package, and close the file of a path."""
        self._builder.close()
        if self._own is not None:
            self._own.close()

    def __enter__(self) -> PackageWriter:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        if kind is None:
            self.close()
        elif self._own is not None:
            self._own.close()


def _measured(content: Any) -> tuple[Any, int]:
    """Return a file, or its bytes if it cannot seek, with the length from here to its end."""
    if not (hasattr(content, "seek") and hasattr(content, "tell")):
        content = content.read(-1)
        return content, len(content)
    start = content.tell()
    length = content.seek(0, io.SEEK_END) - start
    content.seek(start)
    return content, length
