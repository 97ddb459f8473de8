"""One side of a comparison: apart, in a process of its own, or together with others where time is short.

A side is a module with `run_side(words) -> Pace`, which can also be run as a program.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from importlib import import_module

from seine.bench.harness.measure import BatchCost
from seine.errors import RunError

SEINE = "seine.bench.sides.on_seine"
SPARK = "seine.bench.sides.on_spark"

Runner = Callable[..., BatchCost]  # (title, module, *words)


def announce(title: str) -> None:
    """One line on standard error, as a side starts."""
    print(f"  {title} ...", file=sys.stderr, flush=True)


def apart(title: str, module: str, *words: object) -> BatchCost:
    """Run a side in a fresh process, so that no side warms up, or slows down, another."""
    announce(title)
    command = [sys.executable, "-m", module, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        raise RunError(f"the side '{title}' failed: {lines[-1]}")
    return BatchCost(**json.loads(done.stdout.splitlines()[-1]))


def together(title: str, module: str, *words: object) -> BatchCost:
    """Run a side in this process, on a Spark that is there already: starting one takes half a minute."""
    announce(title)
    measured: BatchCost = import_module(module).run_side(list(map(str, words)))
    return measured


def tell(measured: BatchCost) -> None:
    """Print what `apart` reads."""
    print(json.dumps(asdict(measured)))
