"""A document that is read and written as one file, or as an index with parts."""

from __future__ import annotations

import itertools
import math
import os
import re
from typing import Any, Iterator, Optional, Union

from .hashes import Hashes
from .list_base import ListBase
from .mapper import MapperError
from .resource import Resource
from .resource_container import ResourceContainer
from .sitemap import Sitemap
from .url_authority import UrlAuthority
from .url_or_file_open import url_or_file_open

__all__ = ["ListBaseIndexError", "ListBaseWithIndex"]


class ListBaseIndexError(Exception):
    """An index that cannot be read or written."""


class ListBaseWithIndex(ListBase):
    """A document that becomes an index with parts if it has more than ``max_sitemap_entries``."""

    def __init__(
        self,
        resources: Optional[Any] = None,
        count: Optional[int] = None,
        md: Optional[dict[str, Any]] = None,
        ln: Optional[list[dict[str, Any]]] = None,
        uri: Optional[str] = None,
        capability_name: str = "unknown",
        allow_multifile: Optional[bool] = None,
        mapper: Optional[Any] = None,
        spec_version: str = "1.1",
        add_lastmod: bool = False,
        resources_class: Optional[Any] = None,
    ) -> None:
        self.resources_class: Any = list if resources_class is None else resources_class
        super().__init__(
            resources=self.resources_class() if resources is None else resources,
            count=count,
            md=md,
            ln=ln,
            uri=uri,
            capability_name=capability_name,
            spec_version=spec_version,
            add_lastmod=add_lastmod,
        )
        self.max_sitemap_entries: Optional[int] = 50_000
        self.mapper: Any = mapper
        self.allow_multifile = True if allow_multifile is None else allow_multifile
        self.check_url_authority = False
        self.content_length = 0
        self.num_files = 0

    def read(
        self, uri: Optional[str] = None, resources: Optional[Any] = None, index_only: bool = False
    ) -> None:
        """Read a document, and the parts of an index unless ``index_only``. Parts of a local index are local files."""
        assert uri is not None
        try:
            fh = self._opened(uri)
        except OSError as error:
            raise OSError(f"Failed to load sitemap/sitemapindex from {uri} ({error})") from error
        self.logger.info("Read sitemap/sitemapindex from %s" % (uri,))
        sitemap = self.new_sitemap()
        # The entries of an index are no entries of the list: one of Change Lists has no changes.
        found = ResourceContainer(md=self.md, ln=self.ln)
        with fh:
            sitemap.parse_xml(fh=fh, resources=found, capability=self.capability_name)
        self.md = found.md
        if not sitemap.parsed_index:
            for resource in found.resources:
                self.add(resource)
            self.logger.info("Parsed as sitemap, %d resources" % (len(self.resources),))
            return
        if not self.allow_multifile:
            message = f"Got sitemapindex from {uri} but support for sitemapindex disabled"
            raise ListBaseIndexError(message)
        self.logger.info("Parsed as sitemapindex, %d sitemaps" % (len(found.resources),))
        self.resources = self.resources_class()
        if index_only:
            self.sitemapindex = True
            ResourceContainer.add(self, found.resources)
            return
        parts = sorted(part.uri for part in found.resources)
        self.logger.info("Now reading %d sitemaps" % (len(parts),))
        for part in parts:
            self.read_component_sitemap(uri, part, sitemap, self.is_file_uri(uri))

    def read_component_sitemap(
        self, sitemapindex_uri: str, sitemap_uri: str, sitemap: Sitemap, sitemapindex_is_file: bool
    ) -> None:
        """Read a part of an index."""
        if sitemapindex_is_file:
            if not self.is_file_uri(sitemap_uri):
                remote, sitemap_uri = sitemap_uri, self.mapper.src_to_dst(sitemap_uri)
                self.logger.info("Mapped %s to local file %s" % (remote, sitemap_uri))
            elif self.check_url_authority and not UrlAuthority(sitemapindex_uri).has_authority_over(sitemap_uri):
                message = f"The sitemapindex ({sitemapindex_uri}) refers to sitemap at a location it does not have"
                raise ListBaseIndexError(f"{message} authority over ({sitemap_uri})")
        try:
            fh = self._opened(sitemap_uri)
        except OSError as error:
            message = f"Failed to load sitemap from {sitemap_uri} listed in sitemap index {sitemapindex_uri}"
            raise ListBaseIndexError(f"{message} ({error})") from error
        self.logger.info("Reading sitemap from %s (%d bytes)" % (sitemap_uri, self.content_length))
        with fh:
            for resource in sitemap.parse_xml(fh=fh, sitemapindex=False):
                self.add(resource)

    def _opened(self, uri: str) -> Any:
        """Open a document, and count it and its bytes."""
        fh = url_or_file_open(uri)
        self.num_files += 1
        length = fh.info()["Content-Length"]
        if length is not None:
            self.content_length = int(length)
            self.bytes_read += self.content_length
        return fh

    def requires_multifile(self) -> Union[bool, int]:
        """Return the number of parts that the document needs; ``False`` if it needs none."""
        if self.max_sitemap_entries is None or len(self) <= self.max_sitemap_entries:
            return False
        return math.ceil(len(self) / self.max_sitemap_entries)

    def as_xml(self, allow_multifile: bool = False, basename: str = "/tmp/sitemap.xml") -> str:
        """Return the document as XML: with ``allow_multifile`` the index of one that is too long."""
        if not self.requires_multifile():
            return super().as_xml()
        if allow_multifile:
            return self.as_xml_index(basename)
        message = f"Attempt to write single XML string for list with {len(self)} entries when max_sitemap_entries"
        raise ListBaseIndexError(f"{message} is set to {self.max_sitemap_entries}")

    def as_xml_index(self, basename: str = "/tmp/sitemap.xml") -> str:
        """Return the index of a document that needs parts."""
        index = ListBase(capability_name=self.capability_name or "unknown")
        index.sitemapindex = True
        for number in range(self._parts("sitemapindex")):
            index.add(Resource(uri=self.part_name(basename, number)))
        return index.as_xml()

    def as_xml_part(self, basename: str = "/tmp/sitemap.xml", part_number: int = 0) -> str:
        """Return one part of a document that needs parts."""
        self._parts("component sitemap")
        size = self.max_sitemap_entries or 0
        start = part_number * size
        if start > len(self):
            message = "Request for component sitemap with part_number too high, would start at entry"
            raise ListBaseIndexError(f"{message} {start} yet the list has only {len(self)} entries")
        part = ListBase(itertools.islice(self.resources, start, start + size))
        part.capability_name = self.capability_name
        part.default_capability()
        part.index = basename
        return str(self.new_sitemap().resources_as_xml(part))

    def _parts(self, wanted: str) -> int:
        parts = self.requires_multifile()
        if not parts:
            message = f"Request for {wanted} for list with only {len(self)} entries when max_sitemap_entries"
            raise ListBaseIndexError(f"{message} is set to {self.max_sitemap_entries}")
        return int(parts)

    def write(self, basename: str = "/tmp/sitemap.xml") -> None:
        """Write the document to a file, or an index and its parts beside it."""
        resources = iter(self.resources)
        chunk, following = self.get_resources_chunk(resources)
        if following is None:
            kind = "sitemapindex" if self.sitemapindex else "sitemap"
            self._write_one(chunk, basename, kind)
            return
        if not self.allow_multifile:
            raise ListBaseIndexError("Too many entries for a single sitemap but multifile disabled")
        location = self._location(basename, "sitemapindex")
        index = ListBase(md=self.md.copy(), ln=list(self.ln), capability_name=self.capability_name or "unknown")
        index.default_capability()
        while len(chunk) > 0:
            file = self.part_name(basename, len(index))
            uri = self._location(file, "sitemap")
            chunk.index = location
            chunk.md = index.md
            self._write_one(chunk, file, "sitemap")
            index.add(Resource(uri=uri, timestamp=os.stat(file).st_mtime, md5=Hashes(["md5"], file).md5))
            chunk, following = self.get_resources_chunk(resources, following)
        self.logger.info("Wrote %d sitemaps" % (len(index),))
        self._write_one(index, basename, "sitemapindex")

    def _location(self, file: str, kind: str) -> str:
        try:
            return str(self.mapper.dst_to_src(file))
        except MapperError as error:
            raise ListBaseIndexError(f"Cannot map {kind} filename to URI ({error})") from error

    def _write_one(self, resources: Any, file: str, kind: str) -> None:
        self.logger.info("Writing %s %s..." % (kind, file))
        with open(file, "w", encoding="utf-8") as fh:
            self.new_sitemap().resources_as_xml(resources, sitemapindex=kind == "sitemapindex", fh=fh)
        self.logger.info("Wrote %s %s" % (kind, file))

    def index_as_xml(self) -> str:
        """Return the resources as an index."""
        self.default_capability()
        return str(self.new_sitemap().resources_as_xml(self, sitemapindex=True))

    def get_resources_chunk(
        self, resource_iter: Iterator[Any], first: Optional[Any] = None
    ) -> tuple[ListBase, Optional[Any]]:
        """Return the next part of the resources, and the resource after it."""
        chunk = ListBase(md=self.md.copy(), ln=list(self.ln), capability_name=self.capability_name or "unknown")
        chunk.default_capability()
        if first is not None:
            chunk.add(first)
        most = None if self.max_sitemap_entries is None else self.max_sitemap_entries - len(chunk)
        for resource in itertools.islice(resource_iter, most):
            chunk.add(resource)
        return chunk, next(resource_iter, None)

    def part_name(self, basename: str = "/tmp/sitemap.xml", part_number: int = 0) -> str:
        """Return the name of a part: a number of five digits before the end ``.xml``."""
        base = basename[: -len(".xml")] if basename.endswith(".xml") else basename
        return f"{base}{part_number:05d}.xml"

    def is_file_uri(self, uri: str) -> bool:
        """Return ``True`` for a path or a ``file:`` URL."""
        return re.match(r"file:", uri) is not None or re.match(r"\w{3,4}:", uri) is None
