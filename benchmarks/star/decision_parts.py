"""What a join within a memory spends its time on: parts of a decision, and the price of a large relation.

Two questions of docs/design/shedding.md: would compiled decisions pay, and would a smaller relation?
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from _lsprof import profiler_entry
from collections.abc import Callable, Sequence
from cProfile import Profile
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.harness.table import Table
from benchmarks.star.shedding_cost import keyed_streams
from seine.run_local import run_local
from seine.shedding.policies import Shedding
from seine.shedding.shedder import Shedder

_KEYS = 400  # of each stream
_MET = 2  # relation tuples that every stream tuple joins
_SCRIPT = """\
CREATE STREAM r (ts BIGINT, a BIGINT, imp BIGINT) TIMESTAMP BY ts WINDOW 500 IMPORTANCE BY imp FROM 'r.jsonl';
CREATE STREAM s (ts BIGINT, b BIGINT, imp BIGINT) TIMESTAMP BY ts WINDOW 500 IMPORTANCE BY imp FROM 's.jsonl';
CREATE RELATION f (a BIGINT, b BIGINT) FROM 'f.jsonl';
CREATE QUERY limited WITH (memory = {memory}) AS
  SELECT r.ts AS r_ts, s.ts AS s_ts FROM r, f, s WHERE r.a = f.a AND f.b = s.b;
"""


def decision_parts(tuples: int, memories: Sequence[int], policy: str = "auto") -> Table:
    """The table of what a decision is made of: calls, and the function that takes most time by itself."""
    table = Table("memory", "calls a tuple", "the largest part", "its share")
    for memory in memories:
        streams, shedder = keyed_streams(tuples, memory), Shedder(Shedding(policy), memory // 2, 2)
        entries = _profiled(partial(shedder.step, streams))
        largest = max(entries, key=lambda entry: entry.inlinetime)
        calls = sum(entry.callcount for entry in entries)
        share = largest.inlinetime / sum(entry.inlinetime for entry in entries)
        table.add(f"{memory:,}", f"{calls / tuples:.0f}", _name(largest), f"{100 * share:.0f} %")
    return table


def relation_sizes(tuples: int, memory: int, sizes: Sequence[int]) -> Table:
    """The table of CPU time a tuple of a run by size of its relation, and how much of it is decisions."""
    table = Table("relation tuples", "results", "CPU µs a tuple", "of it decisions")
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="seine-bench-") as name:
            script = _write(Path(name), tuples, memory, size)
            began = time.process_time()
            results = len(run_local(script).records)
            spent = time.process_time() - began
            entries = _profiled(partial(run_local, script))
        decisions = sum(entry.totaltime for entry in entries if _name(entry) == "shedder.py: step")
        share = decisions / sum(entry.inlinetime for entry in entries)
        table.add(f"{size:,}", f"{results:,}", f"{1e6 * spent / tuples:.0f}", f"{100 * share:.0f} %")
    return table


def _profiled(work: Callable[[], object]) -> list[profiler_entry]:
    """What the profiler saw while something was done."""
    profile = Profile()
    profile.runcall(work)
    return profile.getstats()


def _name(entry: profiler_entry) -> str:
    """A function as the profiler names it: one of Python with its file."""
    code = entry.code
    return code if isinstance(code, str) else f"{os.path.basename(code.co_filename)}: {code.co_name}"


def _write(folder: Path, tuples: int, memory: int, size: int) -> str:
    """A script and its files: every stream tuple meets as many relation tuples, however many there are."""
    draw = np.random.default_rng(1)
    for name, key in (("r", "a"), ("s", "b")):
        keys, levels = draw.integers(0, _KEYS, tuples // 2), draw.integers(1, 11, tuples // 2)
        rows = [
            {"ts": ts, key: k, "imp": level}
            for ts, (k, level) in enumerate(zip(keys.tolist(), levels.tolist(), strict=True))
        ]
        _dump(folder / f"{name}.jsonl", rows)
    met = [{"a": n % _KEYS, "b": (n * 7 + n // _KEYS) % _KEYS} for n in range(_MET * _KEYS)]
    others = [{"a": n, "b": n} for n in range(_MET * _KEYS, size)]
    _dump(folder / "f.jsonl", met + others)
    script = folder / "star.sql"
    script.write_text(_SCRIPT.format(memory=memory), encoding="utf-8")
    return str(script)


def _dump(path: Path, rows: Sequence[dict[str, int]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
