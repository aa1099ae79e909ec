"""Packages of files."""

from __future__ import annotations

import logging
import os.path
from typing import Any, Iterator, Optional
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

from .resource_dump_manifest import ResourceDumpManifest

__all__ = ["Dump", "DumpError"]


class DumpError(Exception):
    """A resource that cannot be packed."""


class Dump:
    """Packs resources with a local ``path`` into ZIP files of limited size."""

    def __init__(
        self, resources: Optional[Any] = None, format: Optional[str] = None, compress: bool = True
    ) -> None:
        self.resources: Any = resources
        self.format = "zip" if format is None else format
        self.compress = compress
        self.manifest_class: Any = ResourceDumpManifest
        self.max_size = 100 * 1024 * 1024
        self.max_files = 50_000
        self.path_prefix: Optional[str] = None
        self.total_size = 0
        self.logger = logging.getLogger("resync.dump")

    def write(self, basename: Optional[str] = None, write_separate_manifests: bool = True) -> int:
        """Write the packages ``BASENAME00000.zip``, ... and return their number."""
        self.check_files()
        count = 0
        for manifest in self.partition_dumps():
            base = f"{basename}{count:05d}"
            if write_separate_manifests:
                manifest.write(basename=f"{base}.xml")
            if self.format != "zip":
                raise DumpError(f"Unknown dump format requested ({self.format})")
            self.write_zip(manifest.resources, f"{base}.{self.format}")
            count += 1
        self.logger.info("Wrote %d dump files" % (count,))
        return count

    def write_zip(self, resources: Optional[Any] = None, dumpfile: Optional[str] = None) -> None:
        """Write a package: the manifest, then each file."""
        assert resources is not None and dumpfile is not None
        compression = ZIP_DEFLATED if self.compress else ZIP_STORED
        files = {}
        for resource in resources:
            member = self.archive_path(resource.path)
            files[member], resource.path = resource.path, member
        with ZipFile(dumpfile, mode="w", compression=compression) as package:
            package.writestr("manifest.xml", ResourceDumpManifest(resources=resources).as_xml())
            for resource in resources:
                package.write(files[resource.path], arcname=resource.path)
        self.logger.info("Wrote ZIP file dump %s with size %d bytes" % (dumpfile, os.path.getsize(dumpfile)))

    def check_files(self, set_length: bool = True, check_length: bool = True) -> bool:
        """Check the path and length of each resource, and find the folder that all files are in."""
        folders = []
        self.total_size = 0
        for resource in self.resources:
            if resource.path is None:
                raise DumpError(f"No file path defined for resource {resource.uri}")
            folders.append(os.path.dirname(resource.path))
            size = os.path.getsize(resource.path)
            if resource.length is None and set_length:
                resource.length = size
            if check_length and resource.length is not None and resource.length != size:
                message = f"Size of resource {resource.uri} is {size} on disk, not {resource.length} as specified"
                raise DumpError(message)
            if size > self.max_size:
                message = f"Size of file ({resource.path}, {size}) exceeds maximum ({self.max_size}) dump size"
                raise DumpError(message)
            self.total_size += size
        self.path_prefix = _common_folder(folders) if folders else None
        self.logger.info("Total size of files to include in dump %d bytes" % (self.total_size,))
        return True

    def partition_dumps(self) -> Iterator[Any]:
        """Return a manifest for each package, none with more than ``max_files`` or, but for its last file, ``max_size``."""
        manifest, size, count = self.manifest_class(), 0, 0
        for resource in self.resources:
            manifest.add(resource)
            size += resource.length
            count += 1
            if size >= self.max_size or count >= self.max_files:
                yield manifest
                manifest, size, count = self.manifest_class(), 0, 0
        if count > 0:
            yield manifest

    def archive_path(self, real_path: str) -> str:
        """Return the name of a file in the package: its path below the folder that all files are in."""
        return os.path.relpath(real_path, self.path_prefix) if self.path_prefix else real_path


def _common_folder(folders: list[str]) -> str:
    """Return the folder that all folders are in; empty if there is none."""
    prefix = os.path.commonprefix(folders)
    below = os.path.join(prefix, "")
    if all(folder == prefix or folder.startswith(below) for folder in folders):
        return prefix
    # Of ``data1`` and ``data2`` it is ``data``, from which a path to a file would lead out of the package.
    return os.path.dirname(prefix)
