"""Writing packages."""

from __future__ import annotations

import io
import os
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import IO, Any, Optional, Union

from ._documents import Document
from ._files import replacing
from ._native import PackageBuilder
from ._sources import FileLike
from .errors import PackageError

__all__ = ["PackageWriter"]

_BLOCK = 1 << 16


class PackageWriter:
    """Writes a package: the manifest first, then one bitstream after the other. Equal input gives equal bytes.

    ``target`` is a path, or a file that can seek. ``manifest`` names the bitstreams that will be added: all of them, and no
    other. A package that is not completed leaves a file at its path as it was.

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
        named = [(entry.path, *(link.path for link in entry.links)) for entry in manifest]
        self._named = {path.lstrip("/") for paths in named for path in paths if path is not None}
        #: The bitstreams that are still to be added.
        self._awaited = set(self._named)
        text = manifest.to_xml().encode()
        self._own = ExitStack()
        self._is_own = isinstance(target, (str, os.PathLike))
        file: Any = target
        if isinstance(target, (str, os.PathLike)):
            file = self._own.enter_context(replacing(target))
        self._builder = PackageBuilder(file, text)

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
        name = path.lstrip("/")
        if name not in self._named:
            raise PackageError(f"The manifest does not name {path}", "ZIP-6")
        if length is None and not isinstance(content, bytes):
            content, length = _measured(content)
        size = len(content) if isinstance(content, bytes) else length
        self._builder.add(path, content, size or 0, type)
        self._awaited.discard(name)

    def close(self) -> None:
        """Write the directory of the package, and close the file of a path.

        Raises :class:`PackageError` if a bitstream that the manifest names was not added.
        """
        if self._awaited:
            error = PackageError(f"The manifest names /{min(self._awaited)}, which was not added", "ZIP-6")
            self._abandon(error)
            raise error
        self._builder.close()
        self._own.close()

    def _abandon(self, error: BaseException) -> None:
        if self._is_own:
            # A builder that is dropped before its end says on standard error that it could not finish.
            with suppress(Exception):
                self._builder.close()
        self._own.__exit__(type(error), error, None)

    def __enter__(self) -> PackageWriter:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        if error is None:
            self.close()
        else:
            self._abandon(error)


def _measured(content: Any) -> tuple[Any, int]:
    """Return a file, or its bytes if it cannot seek, with the length from here to its end."""
    # A pipe and a response have these methods too, which raise there.
    can_seek = getattr(content, "seekable", lambda: True)
    if not (hasattr(content, "seek") and hasattr(content, "tell") and can_seek()):
        # In blocks, because a file need not know a size that means all.
        whole = b"".join(iter(lambda: content.read(_BLOCK), b""))
        return whole, len(whole)
    start = content.tell()
    length = content.seek(0, io.SEEK_END) - start
    content.seek(start)
    return content, length
