"""Documents and the resources that they may speak for."""

from __future__ import annotations

import os.path
from typing import Optional
from urllib.parse import urlparse

__all__ = ["UrlAuthority"]


class UrlAuthority:
    """The URLs that a document may list: those of its host and its sub-domains; if ``strict`` only below its folder."""

    def __init__(self, url: Optional[str] = None, strict: bool = False) -> None:
        self.url = url
        self.strict = strict
        self.master_scheme, self.master_netloc = "none", "none.none.none"
        self.master_path = "/not/very/likely"
        if url is not None:
            self.set_master(url)

    def set_master(self, url: str) -> None:
        """Set the URL of the document."""
        parts = urlparse(url)
        self.master_scheme, self.master_netloc = parts.scheme, parts.netloc
        self.master_path = os.path.dirname(parts.path)

    def has_authority_over(self, url: str) -> bool:
        """Return ``True`` if the document may list a URL."""
        parts = urlparse(url)
        if parts.scheme != self.master_scheme:
            return False
        if parts.netloc != self.master_netloc and not parts.netloc.endswith("." + self.master_netloc):
            return False
        return not self.strict or os.path.dirname(parts.path).startswith(self.master_path)
