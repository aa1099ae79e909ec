"""URIs to paths, and back."""

from __future__ import annotations

import logging
import os.path
import re
from typing import Optional
from urllib.parse import urlparse

__all__ = ["Map", "Mapper", "MapperError"]


class MapperError(Exception):
    """A mapping that cannot be used, or a URI or path that no mapping covers."""


class Mapper:
    """Mappings between URIs and paths; the first one that covers a URI or path is used."""

    def __init__(self, mappings: Optional[list[str]] = None, use_default_path: bool = False) -> None:
        self.logger = logging.getLogger("resync.mapper")
        self.mappings: list[Map] = []
        if mappings:
            self.parse(mappings, use_default_path)

    def __len__(self) -> int:
        return len(self.mappings)

    def parse(self, mappings: list[str], use_default_path: bool = False) -> None:
        """Read mappings: ``[URI, PATH]``, any number of ``URI=PATH``, or with ``use_default_path`` one URI alone."""
        plain = not any("=" in mapping for mapping in mappings[:2])
        if use_default_path and len(mappings) == 1 and plain:
            path = self.path_from_uri(mappings[0])
            self.logger.warning("Using URI mapping: %s -> %s" % (mappings[0], path))
            self.mappings.append(Map(mappings[0], path))
        elif len(mappings) == 2 and plain:
            self.mappings.append(Map(mappings[0], mappings[1]))
        else:
            for mapping in mappings:
                self._add(mapping)

    def _add(self, mapping: str) -> None:
        entry = mapping.split("=")
        if len(entry) != 2:
            raise MapperError(f"Bad mapping argument ({mapping}), got {entry}")
        uri, path = entry
        for held in self.mappings:
            if uri == held.src_uri:
                message = f"Attempt to set duplicate mapping for source URI {uri} (with destination path {path})"
                raise MapperError(message)
            if path == held.dst_path:
                message = f"Attempt to set duplicate mapping for destination path {path} (with source URI {uri})"
                raise MapperError(message)
        self.mappings.append(Map(uri, path))

    def default_src_uri(self) -> str:
        """Return the URI of the first mapping."""
        if not self.mappings:
            raise MapperError("Can't get default source URI from empty mapping")
        return self.mappings[0].src_uri

    def unsafe(self) -> bool:
        """Return ``True`` if a mapping would write into its own source."""
        return any(mapping.unsafe() for mapping in self.mappings)

    def dst_to_src(self, dst_file: str) -> str:
        """Return the URI of a path."""
        for mapping in self.mappings:
            uri = mapping.dst_to_src(dst_file)
            if uri is not None:
                return uri
        raise MapperError(f"Unable to translate destination path ({dst_file}) into a source URI.")

    def src_to_dst(self, src_uri: str) -> str:
        """Return the path of a URI."""
        for mapping in self.mappings:
            path = mapping.src_to_dst(src_uri)
            if path is not None:
                return path
        raise MapperError(f"Unable to translate source URI ({src_uri}) into a destination path.")

    def path_from_uri(self, uri: str) -> str:
        """Return a safe path for the copy of a Source; a path is returned as it is."""
        parts = urlparse(uri)
        if not parts.netloc:
            return uri
        path = re.sub(r"[^\w\-.]", "_", f"{parts.netloc}/{parts.path}")
        path = re.sub(r"__+", "_", path)
        return path.rstrip("_.").lstrip("_.")

    def __repr__(self) -> str:
        lines = "".join(f"{mapping}\n" for mapping in self.mappings)
        return f"Mapper with {len(self.mappings)} maps:\n{lines}"


class Map:
    """One mapping between URIs and paths. Slashes at the ends do not count."""

    def __init__(self, src_uri: str, dst_path: str) -> None:
        self.src_uri = self.strip_trailing_slashes(src_uri)
        self.dst_path = self.strip_trailing_slashes(dst_path)

    def strip_trailing_slashes(self, path: str) -> str:
        """Return a path without slashes at its end."""
        return path.rstrip("/")

    def dst_to_src(self, dst_file: str) -> Optional[str]:
        """Return the URI of a path; ``None`` if the mapping does not cover it."""
        return self._moved(dst_file, self.dst_path, self.src_uri)

    def src_to_dst(self, src_uri: str) -> Optional[str]:
        """Return the path of a URI; ``None`` if the mapping does not cover it, or the path would leave its folder."""
        path = self._moved(src_uri, self.src_uri, self.dst_path)
        if path is not None and ".." in path[len(self.dst_path) :].split("/"):
            return None
        return path

    @staticmethod
    def _moved(name: str, before: str, after: str) -> Optional[str]:
        rest = name[len(before) :] if name.startswith(before) else None
        return None if rest is None or (rest and not rest.startswith("/")) else after + (rest or "/")

    def unsafe(self) -> bool:
        """Return ``True`` if the Source is local, and one of its path and the copy's begins with the other."""
        if urlparse(self.src_uri).scheme:
            return False
        # That of the root of the disk has lost its only slash.
        source, copy = os.path.normpath(self.src_uri or "/"), os.path.normpath(self.dst_path or "/")
        return os.path.commonprefix([source, copy]) in (source, copy)

    def __repr__(self) -> str:
        return f"Map( {self.src_uri} -> {self.dst_path} )"
