"""Runs one side of a comparison: in a process of its own, or in this process where time is short.

A side is a module with `run_side(arguments) -> BatchCost`, which can also be run as a program.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from importlib import import_module

from benchmarks.harness.measure import BatchCost
from seine.errors import RunError

SEINE = "benchmarks.sides.on_seine"
SPARK = "benchmarks.sides.on_spark"

Runner = Callable[..., BatchCost]  # (title, module, *arguments)


def announce(title: str) -> None:
    """Print a line to standard error as a side starts."""
    print(f"  {title} ...", file=sys.stderr, flush=True)


def apart(title: str, module: str, *arguments: object) -> BatchCost:
    """Run a side in a fresh process, so that sides cannot warm up or slow down one another."""
    return BatchCost(**json.loads(printed_apart(title, module, *arguments)))


def printed_apart(title: str, module: str, *arguments: object) -> str:
    """The last line that a side prints in a fresh process."""
    announce(title)
    command = [sys.executable, "-m", module, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        raise RunError(f"the side '{title}' failed: {lines[-1]}")
    return done.stdout.splitlines()[-1]


def together(title: str, module: str, *arguments: object) -> BatchCost:
    """Run a side in this process, with a Spark session that may exist already: starting one is slow."""
    announce(title)
    measured: BatchCost = import_module(module).run_side(list(map(str, arguments)))
    return measured


def print_cost(measured: BatchCost) -> None:
    """Print the result of a side for `apart` to read."""
    print(json.dumps(asdict(measured)))
