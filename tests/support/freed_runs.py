"""Runs that show what is freed: tuples, then every promise about their values, then strangers.

What is looked at is the state while every stream is still open: once a stream has ended no row waits for it,
and whatever frees nothing would look as if it did.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from seine.algebra.plan import Query
from seine.frontends.script.parser import read_script
from seine.network.plan.strategy import CONFIGURATIONS, Strategy
from seine.operators.state.runs import RetractableRows
from seine.operators.state.sorted_run import END, START
from seine.operators.state.store import Store
from seine.rows.delta import FOREVER
from tests.support.live_runs import Pipeline, read_story
from tests.support.seeds import seed_range

DOMAIN = range(3)
OVER, FAR, LATE = 20, 500, 1000  # tuples that count are over before OVER; strangers are no neighbours of them
LARGEST_BATCH = 40
COLUMNS = "abc"
JOINED = ("left", "right", *(f"rows{port}" for port in range(6)))  # what joins hold

Schemes = Sequence[tuple[str, ...]]


@dataclass(frozen=True)
class Stream:
    """A stream of three BIGINT columns and a time; `clauses` are what else is declared of it."""

    schemes: Schemes = ()
    clauses: str = ""
    types: Mapping[str, str] = field(default_factory=dict)  # of columns that are no BIGINT

    def declared(self, name: str) -> str:
        columns = ", ".join(f"{column} {self.types.get(column, 'BIGINT')}" for column in COLUMNS)
        schemes = "".join(f" PUNCTUATED ON ({', '.join(scheme)})" for scheme in self.schemes)
        return (
            f"CREATE STREAM {name} ({columns}, ts BIGINT) TIMESTAMP BY ts{self.clauses}{schemes}"
            f" FROM '{name}.jsonl';"
        )


def random_schemes(rng: Random) -> Schemes:
    drawn = {tuple(sorted(rng.sample(COLUMNS, rng.choice([1, 1, 2])))) for _ in range(rng.randint(1, 3))}
    return sorted(drawn)


def write_script(rng: Random, folder: Path, streams: Mapping[str, Stream], query: str) -> Path:
    """A script with its streams, and a relation `f`."""
    folder.mkdir(exist_ok=True)
    facts = [{"a": rng.choice(DOMAIN), "b": rng.choice(DOMAIN)} for _ in range(4)]
    write_lines(folder / "f.jsonl", facts)
    text = ["CREATE RELATION f (a BIGINT, b BIGINT) FROM 'f.jsonl';"]
    longest = max(len(_punctuations(stream.schemes)) for stream in streams.values())
    for number, (name, stream) in enumerate(streams.items()):
        text.append(stream.declared(name))
        write_lines(folder / f"{name}.jsonl", _lines(rng, stream.schemes, number, longest))
    text.append(f"CREATE QUERY q WITH (unbounded = true) AS {query};")
    path = folder / "script.sql"
    path.write_text("\n".join(text), encoding="utf-8")
    return path


def _lines(rng: Random, schemes: Schemes, number: int, longest: int) -> list[dict[str, Any]]:
    """As many for every stream, so that all are open until the last strangers come."""
    rows: list[dict[str, Any]] = [
        {**{name: rng.choice(DOMAIN) for name in COLUMNS}, "ts": time}
        for time in range(OVER)
        for _ in range(2)
    ]
    punctuations = _punctuations(schemes)
    rng.shuffle(punctuations)
    rows += punctuations
    return [*rows, *strangers(number, longest - len(punctuations))]


def strangers(number: int, more: int = 0) -> list[dict[str, Any]]:
    """Tuples of a stream that join nothing: enough to see what is held before it ends, and more."""
    collected = []
    for time in (*range(FAR, FAR + more), *range(LATE, LATE + 2 * LARGEST_BATCH)):
        first = 10_000 * (number + 1) + 3 * time
        collected.append({**{name: first + i for i, name in enumerate(COLUMNS)}, "ts": time})
    return collected


def _punctuations(schemes: Schemes) -> list[dict[str, Any]]:
    return [
        {"@punctuate": dict(zip(scheme, values, strict=True)), "ts": OVER}
        for scheme in schemes
        for values in itertools.product(DOMAIN, repeat=len(scheme))
    ]


def write_lines(path: Path, records: Sequence[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def query_of(path: Path) -> Query:
    (query,) = read_script(str(path)).declarations.queries.values()
    return query


def fed(path: Path, batch_rows: int, strategy: Strategy = CONFIGURATIONS["all"]) -> Pipeline:
    """The query of a script after all that its streams send while none of them has ended."""
    assert batch_rows <= LARGEST_BATCH
    folder = path.parent
    story = read_story(path, folder / "journal", batch_rows)
    (folder / "run").mkdir()
    pipeline = Pipeline(folder / "run", story, live=False, strategy=strategy)
    pipeline.network.add(query_of(path))
    for input_ in story.inputs:
        if max(input_.clock.watermarks.values()) < FOREVER:
            pipeline.feed(input_)
            latest = input_.clock
    assert min(latest.watermarks.values()) >= LATE
    return pipeline


def count_outcomes(
    run: Callable[[int, Path], tuple[bool, list[int], str]], count: int, folder: Path
) -> tuple[int, int]:
    """Of random runs, how many are of safe queries, and how many of others that keep rows for good."""
    outcomes = [run(seed, folder / str(seed)) for seed in seed_range(count)]
    return (
        sum(safe for safe, _, _ in outcomes),
        sum(bool(left) and not safe for safe, left, _ in outcomes),
    )


def joined_starts(pipeline: Pipeline, before: int = OVER) -> list[int]:
    """When the tuples began that joins hold and that are over."""
    starts_held = [starts for store in pipeline.stores() for name in JOINED for starts in _rows(store, name)]
    return [start for starts in starts_held for start in starts.tolist() if start < before]


def _rows(store: Store, name: str) -> Iterator[np.ndarray]:
    """The starts of the rows that are alive; what ends before it is late goes some step later."""
    for entry in store.head.get(name, []):
        batch = store.get(entry["run"])
        alive = batch[END].to_numpy() > LATE
        if "mask" in entry:
            packed = store.get(entry["mask"])["gone"].to_numpy()
            alive &= ~np.unpackbits(packed, count=len(alive)).astype(bool)
        identities = sum(column.startswith("_i") for column in batch.schema.names)
        if f"{name}_tombstones" in store.head and identities:
            alive &= RetractableRows(store, name, identities).early_ends(batch) == FOREVER
        yield batch[START].to_numpy()[alive]
