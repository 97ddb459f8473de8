"""The option `--worker-memory`: what each worker process may have to itself."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path

from seine.cli.hosting import retention
from seine.spark.master import chosen_master

_CGROUP_LIMITS = ("memory.max", "memory/memory.limit_in_bytes")  # of version 2 and 1
_FOR_WORKERS = 0.75  # of the memory; the driver and the system have the rest
_LEAST_BYTES = 1_000_000_000  # bytes; a worker with less could not work
_SPARK_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def add_worker_memory(parser: argparse.ArgumentParser) -> None:
    """Add the option."""
    parser.add_argument(
        "--worker-memory",
        metavar="SIZE",
        type=_size,
        help="most memory of a worker process: 2GB (default: its part of three quarters of the machine)",
    )


def worker_memory(arguments: argparse.Namespace) -> int:
    """The bytes that the option says; 0, which is no limit, for the unknown machines of a cluster."""
    if arguments.worker_memory is not None:
        return int(arguments.worker_memory)
    local = re.fullmatch(r"local(?:\[(\d+|\*)(?:,.*)?\])?", chosen_master(arguments.master) or "")
    if not local:
        return 0
    cores = local[1] or "1"
    workers = os.cpu_count() or 1 if cores == "*" else int(cores)
    return part_of(machine_memory(Path("/sys/fs/cgroup")), _heap(), workers)


def part_of(memory: int, heap: int, workers: int) -> int:
    """What one of some workers may have, beside the heap of the JVM.

    >>> part_of(16_000_000_000, 2_000_000_000, 4), part_of(4_000_000_000, 2_000_000_000, 8)
    (2500000000, 1000000000)
    """
    return max(_LEAST_BYTES, int(memory * _FOR_WORKERS - heap) // workers)


def machine_memory(cgroup: Path) -> int:
    """The bytes of the machine, or of the container if that has fewer."""
    sizes = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for name in _CGROUP_LIMITS:
        limit = cgroup / name
        text = limit.read_text().strip() if limit.exists() else "max"
        sizes += [int(text)] if text.isdigit() else []
    return min(sizes)


def _heap() -> int:
    """What the JVM may have, as Spark reads it."""
    text = os.environ.get("SEINE_DRIVER_MEMORY", "2g").strip().lower()
    match = re.fullmatch(r"(\d+)([bkmgt]?)b?", text)
    return 0 if match is None else int(match[1]) * _SPARK_UNITS[match[2]]


def _size(text: str) -> int:
    size = retention(text).bytes
    if size is None:
        raise argparse.ArgumentTypeError("is a size: 800MB or 2GB")
    return size
