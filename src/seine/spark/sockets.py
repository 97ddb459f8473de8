"""Spark settings: Unix domain sockets between Spark and its Python processes on one machine.

By default it uses TCP, and writes what a worker has to do in two small pieces. The second waits until
the first is acknowledged, which Linux may put off by 40 ms, in any task of a micro-batch.
"""

from __future__ import annotations

import tempfile

from seine.scratch_folder import scratch_folder

_LONGEST_FOLDER_NAME = 55  # the folder's name in bytes: with that of a socket in it, any system takes it


def local_sockets(master: str | None) -> dict[str, str]:
    """The settings for a master on this machine; none for another, whose workers are elsewhere.

    >>> local_sockets("spark://here:7077")
    {}
    """
    if master is None or not master.startswith("local"):
        return {}
    folder = tempfile.mkdtemp(dir=scratch_folder(), prefix="s-")  # nobody else may enter it
    if len(folder.encode()) > _LONGEST_FOLDER_NAME:
        return {}
    return {
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": folder,
    }
