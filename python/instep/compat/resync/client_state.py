"""The time up to which a copy has the changes of its Source."""

from __future__ import annotations

import re
from configparser import ConfigParser
from typing import Optional

__all__ = ["ClientState"]


class ClientState:
    """The file ``.resync-client-status.cfg``, which has a time for each Source."""

    def __init__(self) -> None:
        self.status_file = ".resync-client-status.cfg"

    def set_state(self, site: str, timestamp: Optional[float] = None) -> None:
        """Keep the time of a Source; ``None`` forgets it."""
        parser = ConfigParser()
        parser.read(self.status_file)
        if not parser.has_section("incremental"):
            parser.add_section("incremental")
        name = self.config_site_to_name(site)
        if timestamp is None:
            parser.remove_option("incremental", name)
        else:
            parser.set("incremental", name, str(timestamp))
        with open(self.status_file, "w", encoding="utf-8") as file:
            parser.write(file)

    def get_state(self, site: str) -> Optional[float]:
        """Return the time of a Source; ``None`` if none is kept."""
        parser = ConfigParser()
        parser.read(self.status_file)
        held = parser.get("incremental", self.config_site_to_name(site), fallback=None)
        return None if held is None else float(held)

    def config_site_to_name(self, name: str) -> str:
        """Return the option's name for a Source."""
        return re.sub(r"[^\w]", "_", name)
