"""Tests of queries: rows in, records out, in this process and without Spark.

    from seine.testing import run_script

    def test_big_transfers_are_told():
        result = run_script(Path("alerts.sql").read_text(), transfer=[{"amount": 2_000_000, "day": 1}])
        assert result.rows("big") == [{"amount": 2_000_000.0}]

The answers are those of `seine run`: the same tasks compute them.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from msgspec.json import Encoder

from seine.algebra.definitions import RelationDef, Source, StreamDef
from seine.errors import RunError, SeineError
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
    """What the queries of a script said: all their records in order, dead letters, and statistics.

    Values of DECIMAL columns are `Decimal`; all others are as in the JSON Lines of `seine run`.
    """

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
        rows: dict[str, dict[str, Any]] = {}
        for record in self.of(query):
            text = json.dumps(record["row"], sort_keys=True, default=repr)
            rows[text] = record["row"]
            counts[text] += 1 if record["op"] == "+" else -1
        return [deepcopy(rows[text]) for text, count in counts.items() for _ in range(count)]

    @property
    def failures(self) -> dict[str, str]:
        """Why queries failed, by name."""
        queries: dict[str, dict[str, Any]] = self.stats["queries"]
        return {name: query["failed"] for name, query in queries.items() if "failed" in query}

    def _refuse_silence(self) -> None:
        """Refuse a result that lacks rows for another reason than the script's meaning."""
        complaints = [f"query {name} failed: {reason}" for name, reason in self.failures.items()]
        letters = [letter["reason"] for letter in self.dead_letters]
        if letters:
            complaints.append(f"{len(letters)} dead letters or notices, the first because: {letters[0]}")
        if complaints:
            hint = "with run_script(..., strict=False) these are in .failures and .dead_letters"
            raise RunError("; ".join(complaints), hint=hint)

    def _refuse_unknown(self, query: str) -> None:
        known = self.stats["queries"]
        if query.lower() not in map(str.lower, known):
            raise SeineError(f"the script has no query {query}", hint=f"it has {', '.join(known)}")


def run_script(
    script: str,
    *,
    folder: str | None = None,
    batch_rows: int | None = None,
    strict: bool = True,
    functions_here: bool = False,
    **inputs: Iterable[Row],
) -> Result:
    """Run the text of a script to the end of its input.

    Each of `inputs` is the rows of the stream or relation of that name, instead of what it is declared to be
    FROM: dictionaries, as the objects of JSON Lines, `@op` and `@punctuate` among them; dates, timestamps and
    decimals may be Python's. What is not given is read as declared, relative to `folder`. `batch_rows`
    cuts the input into micro-batches: no answer depends on it. Functions of your own run in a process of
    their own, as everywhere; with `functions_here` in this one, where a debugger stops in them.

    A query that fails, and rows that become dead letters, raise an error unless `strict` is False: a test
    that expects nothing cannot pass because of them.

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
    result = Result(done.records, done.dead, done.stats)
    if strict:
        result._refuse_silence()
    return result


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
        file.writelines(_ENCODER.encode(_in_json(dict(row))) + b"\n" for row in rows)
    return replace(table, source=Source(path))


def _in_json(value: Any) -> Any:
    """A value as lines of JSON have it: numbers that are not finite by their names.

    >>> _in_json({"x": [float("-inf"), 1.5]})
    {'x': ['-Infinity', 1.5]}
    """
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {name: _in_json(inner) for name, inner in value.items()}
    return [_in_json(inner) for inner in value] if isinstance(value, (list, tuple)) else value
