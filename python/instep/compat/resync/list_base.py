"""A document that is read and written as one file."""

from __future__ import annotations

import io
import logging
from contextlib import nullcontext
from typing import Any, Iterator, Optional

from .resource_container import ResourceContainer
from .sitemap import Sitemap
from .url_or_file_open import url_or_file_open

__all__ = ["ListBase"]


class ListBase(ResourceContainer):
    """Metadata, links and resources with XML. ``count`` is the length of resources that have none of their own."""

    def __init__(
        self,
        resources: Optional[Any] = None,
        count: Optional[int] = None,
        md: Optional[dict[str, Any]] = None,
        ln: Optional[list[dict[str, Any]]] = None,
        uri: Optional[str] = None,
        capability_name: str = "unknown",
        spec_version: str = "1.1",
        add_lastmod: bool = False,
    ) -> None:
        super().__init__(resources=resources, md=md, ln=ln, uri=uri, capability_name=capability_name)
        self.count = count
        self.spec_version = spec_version
        self.add_lastmod = add_lastmod
        self.sitemapindex = False
        self.pretty_xml = False
        self.logger = logging.getLogger("resync.list_base")
        self.bytes_read = 0
        self.parsed_index: Optional[bool] = None

    def __iter__(self) -> Iterator[Any]:
        return iter(self.resources)

    def __len__(self) -> int:
        return len(self.resources) if self.count is None else self.count

    def read(self, uri: Optional[str] = None) -> None:
        """Read the document at a URL or path."""
        self.parse(uri=uri)

    def parse(
        self,
        uri: Optional[str] = None,
        fh: Optional[Any] = None,
        str_data: Optional[str] = None,
        **kwargs: Any,
    ) -> None:
        """Read one document from a URL or path, a file, which stays open, or a text."""
        opened = None
        if uri is not None:
            try:
                fh = opened = url_or_file_open(uri)
            except OSError as error:
                raise Exception(f"Failed to load sitemap/sitemapindex from {uri} ({error})") from error
        elif str_data is not None:
            fh = io.StringIO(str_data)
        elif "str" in kwargs:
            self.logger.warning("Legacy parse(str=...), use parse(str_data=...) instead")
            fh = io.StringIO(kwargs["str"])
        if fh is None:
            raise Exception("Nothing to parse")
        sitemap = self.new_sitemap()
        with opened or nullcontext():
            sitemap.parse_xml(fh=fh, resources=self, capability=self.capability_name, sitemapindex=False)
        self.parsed_index = sitemap.parsed_index

    def as_xml(self) -> str:
        """Return the document as XML."""
        self.default_capability()
        return str(self.new_sitemap().resources_as_xml(self, sitemapindex=self.sitemapindex))

    def write(self, basename: str = "/tmp/resynclist.xml") -> None:
        """Write the document to a file."""
        self.default_capability()
        with open(basename, "w", encoding="utf-8") as file:
            self.new_sitemap().resources_as_xml(self, fh=file, sitemapindex=self.sitemapindex)

    def new_sitemap(self) -> Sitemap:
        """Return the reader and writer of this document."""
        return Sitemap(
            pretty_xml=self.pretty_xml, spec_version=self.spec_version, add_lastmod=self.add_lastmod
        )
