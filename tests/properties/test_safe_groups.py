"""What the verdict calls safe is freed: groups, rows of set operators, results, and what is joined with them.

Every value of the columns of every scheme is promised, and time goes on by tuples that are like no others:
of the tuples before, nothing that a row of its own is held for is left.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from seine.engine import read_script
from seine.operators import releasing
from seine.operators.aggregates.fold import ROWS as COUNT
from seine.operators.delta import FOREVER
from seine.operators.endable import EndableRuns
from seine.operators.keyed import HASH
from seine.operators.sorted_run import END, START
from seine.operators.store import Store
from seine.safety.verdict import verdict
from tests.properties.test_safe_runs import DOMAIN, seeds, write_lines
from tests.unit.live_runs import Pipeline, read_story

NAMES = "xyz"
OVER, LINES, LATE = 20, 120, 1000  # tuples that count are over before OVER; promises are in the first steps


def random_query(rng: Random) -> str:
    one, other = rng.sample(NAMES, 2)
    keys = rng.sample(["a", "b", "c", "ts", "ts - ts % 5"], rng.choice([1, 2, 2, 3]))
    named = ", ".join(f"{key} AS k{i}" for i, key in enumerate(keys))
    made = rng.choice(["COUNT(*)", "SUM(c)", "MAX(c)", "COUNT(DISTINCT b)"])
    grouped = f"SELECT {named}, {made} AS n FROM {one} GROUP BY {', '.join(keys)}"
    union = rng.choice(["UNION", "UNION ALL", "EXCEPT"])
    equal = rng.choice(["a = {o}.a", "b = {o}.b", "a = {o}.a AND {s}.b = {o}.b", "ts = {o}.ts"])
    joined = f"FROM {one}, {other} WHERE {one}.{equal.format(s=one, o=other)}"
    key = rng.choice(["a", "b", "ts"])
    return rng.choice(
        [
            grouped,
            f"SELECT {one}.{key} AS k, {rng.choice(['COUNT(*)', f'MAX({other}.c)'])} AS n {joined}"
            f" GROUP BY {one}.{key}",
            f"SELECT DISTINCT {named} FROM {one}",
            f"SELECT DISTINCT {one}.{key} AS k, {other}.c AS c {joined}",
            f"SELECT {named} FROM {one} {union} SELECT {named} FROM {other}",
            f"SELECT {named} FROM {one} {union} SELECT {named} FROM {other} {union} SELECT {named} FROM z w",
            f"{grouped} UNION ALL SELECT {named}, c FROM {other}",
            f"SELECT g.k0, {other}.c FROM ({grouped}) g, {other} WHERE g.k0 = {other}.{key}",
            f"SELECT n, COUNT(*) AS m FROM ({grouped}) g GROUP BY n",
            f"SELECT {one}.c AS c, {other}.c AS d {joined}",
        ]
    )


def write_script(rng: Random, folder: Path) -> Path:
    text = []
    for number, name in enumerate(NAMES):
        schemes = sorted(
            {tuple(sorted(rng.sample("abc", rng.choice([1, 1, 2])))) for _ in range(rng.randint(1, 3))}
        )
        clauses = "".join(f" PUNCTUATED ON ({', '.join(columns)})" for columns in schemes)
        clauses += rng.choice(["", "", "", " WINDOW 5", " WINDOW 5 RETRACTABLE", " RETRACTABLE"])
        text.append(
            f"CREATE STREAM {name} (a BIGINT, b BIGINT, c BIGINT, ts BIGINT) TIMESTAMP BY ts{clauses}"
            f" FROM '{name}.jsonl';"
        )
        write_lines(folder / f"{name}.jsonl", lines(rng, schemes, number))
    text.append(f"CREATE QUERY q WITH (unbounded = true) AS {random_query(rng)};")
    (folder / "script.sql").write_text("\n".join(text), encoding="utf-8")
    return folder / "script.sql"


def lines(rng: Random, schemes: list[tuple[str, ...]], number: int) -> list[dict[str, Any]]:
    """Tuples, then every promise about their values, then strangers, as many lines for every stream."""
    rows: list[dict[str, Any]] = [
        {**{name: rng.choice(DOMAIN) for name in "abc"}, "ts": time} for time in range(OVER) for _ in range(2)
    ]
    promises: list[dict[str, Any]] = [
        {"@punctuate": dict(zip(scheme, values, strict=True)), "ts": OVER}
        for scheme in schemes
        for values in itertools.product(DOMAIN, repeat=len(scheme))
    ]
    rng.shuffle(promises)
    found = [*rows, *promises]
    for time in (*range(OVER, OVER + LINES - len(found)), LATE, LATE + 1):
        first = 1000 * (number + 1) + 3 * time
        found.append({"a": first, "b": first + 1, "c": first + 2, "ts": time})
    return found


def old(pipeline: Pipeline) -> list[int]:
    """When the rows began that something is held for and that did not begin late."""
    starts = [start for store in pipeline.stores() for held in _held(store) for start in held.tolist()]
    return [start for start in starts if start < OVER]


def _held(store: Store) -> Iterator[np.ndarray]:
    for name in ("groups", "rows"):
        yield from _live(store, name)
    for name in ("left", "right", *(f"rows{port}" for port in range(6))):
        for entry in store.head.get(name, []):
            batch = store.get(entry["run"])
            alive = batch[END].to_numpy() > LATE
            if "mask" in entry:
                packed = store.get(entry["mask"])["gone"].to_numpy()
                alive &= ~np.unpackbits(packed, count=len(alive)).astype(bool)
            identities = sum(column.startswith("_i") for column in batch.schema.names)
            if f"{name}_ends" in store.head and identities:
                alive &= EndableRuns(store, name, identities).early_ends(batch) == FOREVER
            yield batch[START].to_numpy()[alive]


def _live(store: Store, name: str) -> Iterator[np.ndarray]:
    """The starts of the rows of a table by key; the one row of an aggregate without keys is not looked at."""
    batches = [store.get(run["run"]) for run in reversed(store.head.get(name, []))]
    if batches and "k0" in batches[0].schema.names:
        whole = pa.concat_batches(batches)
        newest = np.unique(whole[HASH].to_numpy(), return_index=True)[1]
        alive = newest[whole[COUNT].to_numpy()[newest] > 0]
        starts = whole[START].to_numpy()
        if (
            "_m" in whole.schema.names
        ):  # what EXCEPT takes away was never told: its key tells whether it is old
            starts = np.where(whole["_m"].to_numpy() > 0, whole["k1"].to_numpy(), starts)
        yield starts[alive]


def run(seed: int, folder: Path) -> tuple[bool, list[int], str]:
    """Whether a query is safe, what is left before input ends, and what it says."""
    rng = Random(seed)
    path = write_script(rng, folder)
    (query,) = read_script(str(path)).declarations.queries.values()
    story = read_story(path, folder / "journal", rng.choice([7, 20, 40]))
    (folder / "run").mkdir()
    pipeline = Pipeline(folder / "run", story, live=False)
    pipeline.network.add(query)
    for input_ in story.inputs:
        if not input_.end:
            pipeline.feed(input_)
    return verdict(query).safe, old(pipeline), query.text


@pytest.mark.parametrize("seed", seeds())
def test_a_safe_query_keeps_nothing_of_what_is_over(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(releasing, "FEW", 0)
    for number in range(3):
        (tmp_path / str(number)).mkdir()
        safe, left, text = run(100 * seed + number, tmp_path / str(number))
        assert not (safe and left), text


def test_some_of_them_are_safe_and_others_keep_rows(tmp_path: Path) -> None:
    found = []
    for seed in range(24):
        (tmp_path / str(seed)).mkdir()
        found.append(run(seed, tmp_path / str(seed)))
    assert sum(safe for safe, _, _ in found) > 5
    assert sum(bool(left) and not safe for safe, left, _ in found) > 3
