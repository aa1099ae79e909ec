"""Change Dumps."""

from __future__ import annotations

from .dump_base import DumpBase
from .resource_list import ResourceList

__all__ = ["ChangeDump"]


class ChangeDump(DumpBase, ResourceList):
    """Packages that hold the changed resources of an interval."""

    CAPABILITY = "changedump"
