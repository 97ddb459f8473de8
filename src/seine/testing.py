"""Tests of queries: rows in, records out, in this process and without Spark.

    from seine.testing import run_script

    def test_big_transfers_are_told():
        result = run_script(Path("alerts.sql").read_text(), transfer=[{"amount": 2_000_000, "day": 1}])
        assert result.rows("big") == [{"amount": 2_000_000.0}]

The answers are those of `seine run`: the same tasks compute them.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from msgspec.json import Encoder

from seine.algebra.definitions import RelationDef, Source, StreamDef
from seine.errors import SeineError
from seine.frontends.script.parser import parse_script
from seine.frontends.script.script import Script
from seine.run import Options
from seine.run_local import collect
from seine.scratch_folder import scratch_folder
from seine.user_code.process import functions_in_this_process

Row = Mapping[str, Any]
_Table = TypeVar("_Table", StreamDef, RelationDef)
_ENCODER = Encoder(decimal_format="number")


@dataclass(frozen=True)
class Result:
    """What the queries of a script said: all their records in order, dead letters, and statistics."""

    records: list[dict[str, Any]]
    dead_letters: list[dict[str, Any]]
    stats: dict[str, Any]

    def of(self, query: str) -> list[dict[str, Any]]:
        """The records of one query, in order."""
        self._refuse_unknown(query)
        return [record for record in self.records if record["query"].lower() == query.lower()]

    def rows(self, query: str) -> list[dict[str, Any]]:
        """The rows of one query at the end: those that were reported, less those that were taken back."""
        counts: Counter[str] = Counter()
        for record in self.of(query):
            counts[json.dumps(record["row"], sort_keys=True)] += 1 if record["op"] == "+" else -1
        return [json.loads(text) for text, count in counts.items() for _ in range(count)]

    def _refuse_unknown(self, query: str) -> None:
        known = self.stats["queries"]
        if query.lower() not in map(str.lower, known):
            raise SeineError(f"the script has no query {query}", hint=f"it has {', '.join(known)}")


def run_script(
    script: str,
    *,
    folder: str | None = None,
    batch_rows: int | None = None,
    functions_here: bool = False,
    **inputs: Iterable[Row],
) -> Result:
    """Run the text of a script to the end of its input.

    Each of `inputs` is the rows of the stream or relation of that name, instead of what it is declared to be
    FROM: dictionaries, as the objects of JSON Lines, `@op` and `@punctuate` among them; dates, timestamps and
    decimals may be Python's. What is not given is read as declared, relative to `folder`. `batch_rows`
    cuts the input into micro-batches: no answer depends on it. Functions of your own run in a process of
    their own, as everywhere; with `functions_here` in this one, where a debugger stops in them.

    >>> result = run_script('''
    ...     CREATE STREAM bid (item BIGINT, price DOUBLE, ts BIGINT) TIMESTAMP BY ts FROM 'bid.jsonl';
    ...     CREATE QUERY dear AS SELECT item FROM bid WHERE price > 100;
    ... ''', bid=[{"item": 1, "price": 50, "ts": 1}, {"item": 2, "price": 200, "ts": 2}])
    >>> result.rows("dear")
    [{'item': 2}]
    """
    with tempfile.TemporaryDirectory(dir=scratch_folder()) as work:
        parsed = parse_script(script, file="script", folder=os.path.abspath(folder or os.curdir))
        _feed(parsed, inputs, work)
        with functions_in_this_process() if functions_here else nullcontext():
            done = collect(parsed, Options(batch_rows=batch_rows))
    return Result(done.records, done.dead, done.stats)


def _feed(script: Script, inputs: Mapping[str, Iterable[Row]], work: str) -> None:
    """Put given rows in the place of declared sources."""
    streams, relations = script.declarations.streams, script.declarations.relations
    for name, rows in inputs.items():
        key = name.lower()
        if key in streams:
            streams[key] = _reading(streams[key], rows, work)
        elif key in relations:
            relations[key] = _reading(relations[key], rows, work)
        else:
            known = ", ".join([*streams, *relations])
            raise SeineError(f"the script declares no stream or relation {name}", hint=f"it has {known}")


def _reading(table: _Table, rows: Iterable[Row], work: str) -> _Table:
    path = os.path.join(work, f"{len(os.listdir(work))}.jsonl")
    with open(path, "wb") as file:
        file.writelines(_ENCODER.encode(dict(row)) + b"\n" for row in rows)
    return replace(table, source=Source(path))
