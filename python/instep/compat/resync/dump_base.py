"""What dumps and the manifests of packages have in common."""

from __future__ import annotations

from typing import Any, ClassVar, Optional

from .list_base_with_index import ListBaseWithIndex

__all__ = ["DumpBase"]


class DumpBase(ListBaseWithIndex):
    """Gives the list that is the next base of a class the capability of the class."""

    CAPABILITY: ClassVar[str]

    def __init__(
        self,
        resources: Optional[Any] = None,
        md: Optional[dict[str, Any]] = None,
        ln: Optional[list[dict[str, Any]]] = None,
        uri: Optional[str] = None,
        allow_multifile: Optional[bool] = None,
        mapper: Optional[Any] = None,
        spec_version: str = "1.1",
        add_lastmod: bool = False,
    ) -> None:
        super().__init__(
            resources=resources,
            md=md,
            ln=ln,
            uri=uri,
            mapper=mapper,
            spec_version=spec_version,
            add_lastmod=add_lastmod,
        )
        self.capability_name = self.CAPABILITY
        if allow_multifile is not None:
            self.allow_multifile = allow_multifile
