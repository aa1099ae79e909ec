"""Resource Lists of files."""

from __future__ import annotations

import logging
import os
import re
from typing import Any, Iterable, Optional

from .hashes import Hashes
from .resource import Resource
from .resource_list import ResourceList
from .w3c_datetime import datetime_to_str

__all__ = ["ResourceListBuilder"]


class ResourceListBuilder:
    """Builds Resource Lists of the files in folders; the mapper says which URIs they have."""

    def __init__(
        self,
        mapper: Optional[Any] = None,
        set_hashes: Optional[Iterable[str]] = None,
        set_length: bool = True,
        set_path: bool = False,
    ) -> None:
        self.mapper: Any = mapper
        self.set_hashes = set(set_hashes) if set_hashes else None
        self.set_length = set_length
        self.set_path = set_path
        self.exclude_patterns: list[str] = []
        self.include_symlinks = False
        self.log_count_increment = 50_000
        self.logger = logging.getLogger("resync.resource_list_builder")
        self.compiled_exclude_patterns: list[re.Pattern[str]] = []

    def add_exclude_patterns(self, exclude_patterns: Iterable[str]) -> None:
        """Leave out files and folders whose names begin as one of these regular expressions says."""
        self.exclude_patterns.extend(exclude_patterns)
        self._compile_excludes()

    def _compile_excludes(self) -> None:
        self.compiled_exclude_patterns = []
        for pattern in self.exclude_patterns:
            try:
                self.compiled_exclude_patterns.append(re.compile(pattern))
            except re.error as error:
                raise ValueError(f"Bad python regex in exclude pattern '{pattern}': {error}") from error

    def _exclude(self, file: str) -> bool:
        return any(pattern.match(file) for pattern in self.compiled_exclude_patterns)

    def from_disk(
        self, resource_list: Optional[ResourceList] = None, paths: Optional[Iterable[str]] = None
    ) -> ResourceList:
        """Return a list of the files below ``paths``, or below the paths of the mapper; or add them to a list."""
        resources = ResourceList() if resource_list is None else resource_list
        if resources.md_at is None:
            resources.md_at = datetime_to_str()
        for path in [mapping.dst_path or "/" for mapping in self.mapper.mappings] if paths is None else paths:
            self.logger.info("Scanning disk from %s" % (path,))
            self.from_disk_add_path(path=path, resource_list=resources)
        resources.md_completed = datetime_to_str()
        return resources

    def from_disk_add_path(
        self, path: Optional[str] = None, resource_list: Optional[ResourceList] = None
    ) -> None:
        """Add the files below a path, or the file there, to a list."""
        if path is None or resource_list is None or self.mapper is None:
            raise ValueError("Must specify path, resource_list and mapper")
        if not os.path.isdir(path):
            self.add_file(resource_list=resource_list, file=path)
            return
        count = 0
        for folder, folders, files in os.walk(path, topdown=True):
            for file in files:
                count += 1
                if count % self.log_count_increment == 0:
                    self.logger.info("ResourceListBuilder.from_disk_add_path: %d files..." % (count,))
                self.add_file(resource_list=resource_list, dir=folder, file=file)
            for excluded in [name for name in folders if self._exclude(name)]:
                self.logger.debug("Excluding dir '%s'" % (excluded,))
                folders.remove(excluded)

    def add_file(
        self,
        resource_list: Optional[ResourceList] = None,
        dir: Optional[str] = None,
        file: Optional[str] = None,
    ) -> None:
        """Add a file to a list."""
        assert resource_list is not None and file is not None
        if self._exclude(file):
            self.logger.debug("Excluding file '%s'" % (file,))
            return
        path = file if dir is None else os.path.join(dir, file)
        if os.path.islink(path) and not self.include_symlinks:
            self.logger.warning("Ignoring symlink '%s'" % (path,))
            return
        try:
            uri = self.mapper.dst_to_src(path)
            status = os.stat(path)
        except OSError as error:
            self.logger.warning("Ignoring file '%s' (error: %s)" % (path, error))
            return
        resource = Resource(uri=uri, timestamp=status.st_mtime)
        if self.set_path:
            resource.path = path
        if self.set_hashes:
            Hashes(self.set_hashes, path).set(resource)
        if self.set_length:
            resource.length = status.st_size
        resource_list.add(resource)
