"""Resource Dump Manifests."""

from __future__ import annotations

from .dump_base import DumpBase
from .resource_list import ResourceList

__all__ = ["ResourceDumpManifest"]


class ResourceDumpManifest(DumpBase, ResourceList):
    """The bitstreams of a package."""

    CAPABILITY = "resourcedump-manifest"
