"""Change Dump Manifests."""

from __future__ import annotations

from .change_list import ChangeList
from .dump_base import DumpBase

__all__ = ["ChangeDumpManifest"]


class ChangeDumpManifest(DumpBase, ChangeList):
    """The changes and bitstreams of a package."""

    CAPABILITY = "changedump-manifest"
