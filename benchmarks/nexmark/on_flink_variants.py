"""A side: more and more personal variants on Flink, all in one job, until that fails or takes too long.

One statement set has an INSERT for each variant; Flink reads each stream once for all of them, and they write
to a table for each of the ten queries. Each number of variants has a process and a time limit of its own.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path

from benchmarks.nexmark.on_flink import JobCost, carried, files_at, settings, tables
from benchmarks.nexmark.variants import substituted

_HEAP = "-Xmx4g"
_NETWORK = "1g"  # buffers between subtasks: what comes with Flink is for few
_CHANGING = "v17"


def run_flink_variants(
    python: str, folder: Path, counts: Sequence[int], seconds: int
) -> Iterator[tuple[int, JobCost]]:
    """The cost of so many variants of each of ten queries over events; one that fails is the last."""
    for count in counts:
        with tempfile.TemporaryDirectory(prefix="seine-bench-") as out:
            request = {
                "settings": _settings(out),
                "tables": tables("events", folder),
                "jobs": [(f"{count} variants of ten", "events", *_sinks(out), statement_set(count))],
            }
            environment = {**os.environ, "JVM_ARGS": _HEAP}
            costs = [cost for _, cost in carried(python, request, environment, seconds)]
        cost = costs[0] if costs else JobCost(float(seconds), 0.0, f"not at its end after {seconds} seconds")
        yield count, cost
        if cost.failure:
            return


def statement_set(count: int) -> str:
    """The INSERTs of so many variants of each query as one statement.

    >>> statement_set(3).count("INSERT INTO")
    30
    """
    return f"EXECUTE STATEMENT SET BEGIN {substituted(_text('variants'), count)} END"


def _sinks(out: str) -> list[str]:
    """What makes the tables that variants write to."""
    made = [text.strip() for text in _text("variant_sinks").split(";") if text.strip()]
    names = [text.split()[2] for text in made]
    return [
        f"{text} WITH ({files_at(Path(out, name))}, 'format' = '{_form(name)}')"
        for name, text in zip(names, made, strict=True)
    ]


def _form(table: str) -> str:
    return "debezium-json" if table == _CHANGING else "json"


def _settings(out: str) -> dict[str, str]:
    network = {f"taskmanager.memory.network.{bound}": _NETWORK for bound in ("min", "max")}
    patience = {"heartbeat.timeout": "600 s"}  # a job that only starts slowly has not failed
    return {**settings(out, 2), **network, **patience}


def _text(name: str) -> str:
    return files("benchmarks.nexmark").joinpath("flink", f"{name}.sql").read_text(encoding="utf-8")
