"""Bytes to read: a path, a URL, ``bytes``, or a file."""

from __future__ import annotations

import gzip
import http.client
import os
import urllib.error
import urllib.request
from typing import IO, Any, Optional, Protocol, Union, cast

from .errors import FetchError

__all__ = ["FileLike", "Readable"]


class FileLike(Protocol):
    """An object with ``read(size) -> bytes``, such as a file opened with ``"rb"`` or a response."""

    def read(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes; none at the end."""
        ...


Readable = Union[str, "os.PathLike[str]", bytes, FileLike]
"""A path, a URL that begins with ``http://`` or ``https://``, the bytes themselves, or a file."""


def is_url(source: object) -> bool:
    """Return ``True`` for a text that begins as a URL does."""
    return isinstance(source, str) and source.startswith(("http://", "https://"))


def opened(source: Readable, base: Optional[str], timeout: float) -> tuple[Any, Optional[str]]:
    """Return the bytes, path or file that ``_native`` reads, and the URI that relative references resolve against."""
    if not is_url(source):
        return source, base
    url = cast(str, source)
    response = fetch(url, timeout)
    return response[0], base or response[1]


def fetch(url: str, timeout: float) -> tuple[IO[bytes], str]:
    """Open a URL, and return the body and the URL after redirects."""
    # A body that is compressed for the way only: a document that is a .gz file itself is decompressed by the reader.
    request = urllib.request.Request(url, headers={"Accept-Encoding": "gzip", "User-Agent": "instep-python"})
    try:
        response = urllib.request.urlopen(request, timeout=timeout)
    except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
        reason = getattr(error, "reason", error)
        code = f"{error.code} " if isinstance(error, urllib.error.HTTPError) else ""
        raise FetchError(f"Cannot fetch {url}: {code}{reason}", 4) from error
    if response.headers.get("Content-Encoding", "").lower() == "gzip":
        return cast(IO[bytes], gzip.GzipFile(fileobj=response)), response.url
    return response, response.url
