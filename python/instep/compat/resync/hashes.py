"""Digests of files."""

from __future__ import annotations

import hashlib
from typing import Any, Iterable, Optional

__all__ = ["Hashes"]


class Hashes:
    """The digests of a file: ``md5``, ``sha1``, ``sha256``; those that were not asked for are ``None``."""

    NAME_TO_ATTRIBUTE = {"md5": "md5", "sha-1": "sha1", "sha-256": "sha256"}

    def __init__(self, hashes: Optional[Iterable[str]] = None, file: Optional[str] = None) -> None:
        self.hashes = set(hashes or ())
        for name in self.hashes:
            if name not in self.NAME_TO_ATTRIBUTE:
                raise Exception(f"Hash type {name} not supported")
        self._digests: dict[str, Any] = {}
        if file is not None:
            self.compute_for_file(file)

    def compute_for_file(self, file: str, block_size: int = 2**17) -> None:
        """Read a file once and compute the digests."""
        self._digests = {name: hashlib.new(self.NAME_TO_ATTRIBUTE[name]) for name in self.hashes}
        with open(file, "rb") as opened:
            while block := opened.read(block_size):
                for digest in self._digests.values():
                    digest.update(block)

    def set(self, resource: Any) -> None:
        """Set the digests of a resource."""
        for name in self.hashes:
            setattr(resource, self.NAME_TO_ATTRIBUTE[name], self._value(name))

    @property
    def md5(self) -> Optional[str]:
        """The MD5 digest in hexadecimal."""
        return self._value("md5")

    @property
    def sha1(self) -> Optional[str]:
        """The SHA-1 digest in hexadecimal."""
        return self._value("sha-1")

    @property
    def sha256(self) -> Optional[str]:
        """The SHA-256 digest in hexadecimal."""
        return self._value("sha-256")

    def _value(self, name: str) -> Optional[str]:
        digest = self._digests.get(name)
        return None if digest is None else digest.hexdigest()
