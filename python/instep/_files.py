"""Files that get their names when they are complete."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import contextmanager
from typing import IO, Iterator, Union


@contextmanager
def replacing(target: Union[str, "os.PathLike[str]"]) -> Iterator[IO[bytes]]:
    """Open a file that takes the place of the one at a path when the block ends, and not if it raises.

    A link stays a link, and a file keeps its permissions, which the new one has from its first byte on. A device or a
    pipe takes the bytes as they come.
    """
    path = os.path.realpath(os.fspath(target))
    former = os.stat(path) if os.path.exists(path) else None
    if former is not None and not stat.S_ISREG(former.st_mode):
        # A folder raises.
        with open(path, "wb") as file:
            yield file
        return
    # A name of its own: another writer, or the user, may have one that only ends differently.
    unfinished = f"{path}.{secrets.token_hex(4)}.tmp"
    mode = 0o666 if former is None else stat.S_IMODE(former.st_mode)
    try:
        with open(unfinished, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            if former is not None:
                # The mask of the process may have taken some of them away.
                os.chmod(unfinished, mode)
            yield file
            file.flush()
            # Otherwise the name could lead to an empty file after a power failure, and the former file would be gone.
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except BaseException:
        if os.path.exists(unfinished):
            os.unlink(unfinished)
        raise
