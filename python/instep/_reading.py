"""Reading documents: as a stream of entries, or as a whole."""

from __future__ import annotations

import os
from typing import IO, Optional, Union

from . import _native
from ._native import Reader, Report
from ._sources import Readable, opened

__all__ = ["read", "validate", "validate_package"]


def read(source: Readable, *, base: Optional[str] = None, timeout: float = 30.0) -> Reader:
    """Open a document and return an iterator over its entries, in constant memory.

    The document can be of any kind and version, compressed or not, in any encoding. Its header is known at once. A bad
    entry is skipped and leaves a finding. Bytes that are not XML, not a Sitemap, or exceed a limit raise a
    :class:`DocumentError`, after the entries before them.

    ``source`` is a path, a URL, ``bytes``, or a file. ``base`` is the URI that relative references resolve against; a
    document of a URL has its own. ``timeout`` is the number of seconds for which a server may be silent. A URL that
    cannot be fetched raises a :class:`FetchError`.

    >>> import instep
    >>> reader = instep.read(b'''<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
    ...     <url><loc>http://example.com/res1</loc></url>
    ...     <url><loc>http://example.com/res2</loc></url></urlset>''')
    >>> [entry.loc for entry in reader]
    ['http://example.com/res1', 'http://example.com/res2']
    """
    bytes_, base = opened(source, base, timeout)
    return Reader(bytes_, base=base)


def validate(
    source: Readable,
    *,
    version: str = "1.1",
    strict: bool = False,
    base: Optional[str] = None,
    expected: Optional[str] = None,
    timeout: float = 30.0,
) -> Report:
    """Check a document against every rule of the standard.

    ``version`` is the version to judge by, ``"1.0"`` or ``"1.1"``; ``strict`` treats warnings as errors; ``expected`` is
    the capability that the document must have. ``base`` and ``timeout`` are those of :func:`read`.

    >>> import instep
    >>> xml = b'''<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
    ...     xmlns:rs="http://www.openarchives.org/rs/terms/">
    ...   <rs:ln rel="up" href="http://example.com/capabilitylist.xml"/>
    ...   <rs:md capability="resourcelist"/></urlset>'''
    >>> report = instep.validate(xml)
    >>> [(finding.rule, finding.line, finding.column) for finding in report.findings if finding.severity == "error"]
    [('RL-2', 4, 3)]
    """
    bytes_, base = opened(source, base, timeout)
    return _native.validate_document(bytes_, version=version, strict=strict, base=base, expected=expected)


def validate_package(
    source: Union[str, "os.PathLike[str]", bytes, IO[bytes]],
    *,
    version: str = "1.1",
    strict: bool = False,
    expected: Optional[str] = None,
) -> tuple[Report, Optional[Report]]:
    """Check a package, and each bitstream against its manifest. Returns the reports about the package and its manifest.

    ``expected`` is the capability of the dump that the package belongs to.
    """
    return _native.validate_package(source, version=version, strict=strict, expected=expected)
