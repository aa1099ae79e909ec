"""The part of the client that writes documents about local files."""

from __future__ import annotations

import logging
from typing import Any, Iterable, Optional

from .capability_list import CapabilityList
from .change_list import ChangeList
from .client_utils import ClientFatalError
from .dump import Dump
from .list_base_with_index import ListBaseIndexError
from .mapper import Mapper
from .resource_list import ResourceList
from .resource_list_builder import ResourceListBuilder
from .source_description import SourceDescription

__all__ = ["ClientWriter"]


class ClientWriter:
    """Writes Resource Lists, Change Lists, Capability Lists, Source Descriptions and dumps."""

    hashes: set[str]
    verbose: bool
    logger: logging.Logger
    mapper: Mapper
    dump_format: Optional[str]
    exclude_patterns: list[str]
    allow_multifile: bool
    max_sitemap_entries: Optional[int]
    pretty_xml: bool
    default_resource_dump: str

    def build_resource_list(self, paths: Optional[str] = None, set_path: Optional[Any] = False) -> ResourceList:
        """Return a list of local files: below the paths of the mappings, or below paths with commas between them."""
        if len(self.mapper) < 1:
            raise ClientFatalError("No source to destination mapping specified")
        builder = ResourceListBuilder(set_hashes=self.hashes, mapper=self.mapper, set_path=bool(set_path))
        try:
            builder.add_exclude_patterns(self.exclude_patterns)
            resources = builder.from_disk(paths=None if paths is None else paths.split(","))
        except ValueError as error:
            raise ClientFatalError(str(error)) from error
        resources.allow_multifile = self.allow_multifile
        self._prepare(resources)
        return resources

    def write_resource_list(
        self,
        paths: Optional[str] = None,
        outfile: Optional[str] = None,
        links: Optional[list[dict[str, Any]]] = None,
        dump: Optional[Any] = None,
    ) -> None:
        """Write a Resource List, or with ``dump`` packages, of local files; a list to the terminal without ``outfile``."""
        resources = self.build_resource_list(paths=paths, set_path=dump)
        if links is not None:
            resources.ln = links
        if dump:
            self.logger.info("Writing resource dump to %s..." % (dump,))
            Dump(resources=resources, format=self.dump_format).write(basename=outfile or self.default_resource_dump)
            return
        try:
            self._put(resources, outfile)
        except ListBaseIndexError as error:
            if outfile is not None:
                raise
            message = f"{error}. Use --output option to specify base name for output files."
            raise ClientFatalError(message) from error

    def write_change_list(
        self,
        paths: Optional[str] = None,
        outfile: Optional[str] = None,
        ref_sitemap: Optional[str] = None,
        newref_sitemap: Optional[str] = None,
        empty: Optional[bool] = None,
        links: Optional[list[dict[str, Any]]] = None,
        dump: Optional[Any] = None,
    ) -> None:
        """Write the changes between a Resource List and another one, or the local files."""
        if dump:
            raise ClientFatalError("Change dumps are not written: use instep publish --change-dump")
        changes = ChangeList(ln=links)
        if not empty:
            before = self.read_reference_resource_list(str(ref_sitemap))
            if newref_sitemap is None:
                after = self.build_resource_list(paths=paths, set_path=dump)
            else:
                after = self.read_reference_resource_list(newref_sitemap, name="new reference")
            _, updated, deleted, created = before.compare(after)
            changes.add_changed_resources(updated, change="updated")
            changes.add_changed_resources(deleted, change="deleted")
            changes.add_changed_resources(created, change="created")
        self._prepare(changes)
        self._put(changes, outfile)

    def write_capability_list(
        self,
        capabilities: Optional[dict[str, str]] = None,
        outfile: Optional[str] = None,
        links: Optional[list[dict[str, Any]]] = None,
    ) -> None:
        """Write a Capability List of names with their URIs."""
        document = CapabilityList(ln=links)
        document.pretty_xml = self.pretty_xml
        for name, uri in (capabilities or {}).items():
            document.add_capability(name=name, uri=uri)
        self._put(document, outfile)

    def write_source_description(
        self,
        capability_lists: Optional[Iterable[str]] = None,
        outfile: Optional[str] = None,
        links: Optional[list[dict[str, Any]]] = None,
    ) -> None:
        """Write a Source Description of Capability Lists."""
        document = SourceDescription(ln=links)
        document.pretty_xml = self.pretty_xml
        for uri in capability_lists or ():
            document.add_capability_list(uri)
        self._put(document, outfile)

    def read_reference_resource_list(self, ref_sitemap: str, name: str = "reference") -> ResourceList:
        """Read a Resource List to compare with, and print it if ``verbose``."""
        self.logger.info("Reading %s resource list from %s ..." % (name, ref_sitemap))
        resources = ResourceList(mapper=self.mapper)
        resources.read(uri=ref_sitemap, index_only=not self.allow_multifile)
        text = "Read %s resource list with %d entries in %d sitemaps"
        self.logger.info(text % (name, len(resources.resources), resources.num_files))
        if self.verbose:
            self._show(resources.resources, numbered=False)
        return resources

    def _prepare(self, document: Any) -> None:
        document.mapper = self.mapper
        document.pretty_xml = self.pretty_xml
        if self.max_sitemap_entries is not None:
            document.max_sitemap_entries = self.max_sitemap_entries

    def _put(self, document: Any, outfile: Optional[str]) -> None:
        if outfile is None:
            print(document.as_xml())
        else:
            document.write(basename=outfile)

    def _show(self, resources: Any, numbered: bool) -> None:
        """Print the first resources."""
        most = self.max_sitemap_entries or 100
        if len(resources) > most:
            hint = "" if self.max_sitemap_entries else " (override with --max-sitemap-entries)"
            print(f"Showing first {most} entries sorted by URI{hint}...")
        for number, resource in zip(range(most), resources):
            print(f"[{number}] {resource}" if numbered else resource)
