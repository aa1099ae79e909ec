"""Resource Dumps."""

from __future__ import annotations

from .dump_base import DumpBase
from .resource_list import ResourceList

__all__ = ["ResourceDump"]


class ResourceDump(DumpBase, ResourceList):
    """Packages that together hold all resources."""

    CAPABILITY = "resourcedump"
