"""Which Spark master a run uses, and whether it answers."""

from __future__ import annotations

import os
import socket

from seine.errors import SeineError

_SECONDS = 5.0


def chosen_master(named: str | None) -> str | None:
    """The master that the user chose, in whatever way; None if spark-submit knows it.

    >>> chosen_master("spark://here:7077")
    'spark://here:7077'
    """
    default = None if "PYSPARK_GATEWAY_PORT" in os.environ else "local[*]"
    return named or os.environ.get("SPARK_MASTER") or default


def require_master(url: str) -> None:
    """Refuse a standalone master that nobody can reach; Spark itself would try for a minute."""
    if not url.startswith("spark://"):
        return
    for address in url.removeprefix("spark://").split(","):
        machine, _, port = address.rpartition(":")
        try:
            with socket.create_connection((machine.strip("[]"), int(port)), _SECONDS):
                return
        except (OSError, ValueError):
            continue
    raise SeineError(f"no Spark master answers at {url}", hint="start it, or name another by --master")
