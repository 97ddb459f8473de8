"""What the verdict calls safe is freed: groups, rows of set operators, results, and what is joined with them.

Of the tuples that are over nothing that a row of its own is held for is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from seine.operators.aggregates.fold import ROWS as COUNT
from seine.operators.group import group_release
from seine.operators.state.keyed_table import HASH
from seine.operators.state.sorted_run import START
from seine.operators.state.store import Store
from seine.safety.verdict import verdict
from tests.support.freed_runs import (
    OVER,
    Stream,
    count_outcomes,
    fed,
    joined_starts,
    query_of,
    random_schemes,
    write_script,
)
from tests.support.live_runs import Pipeline
from tests.support.seeds import seeds

NAMES = "xyz"
ENDS = ["", "", "", " WINDOW 5", " WINDOW 5 RETRACTABLE", " RETRACTABLE"]


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


def old(pipeline: Pipeline) -> list[int]:
    """When the tuples began that something is held for and that are over."""
    found = [s for store in pipeline.stores() for name in ("groups", "rows") for s in _live(store, name)]
    starts = [start for starts in found for start in starts.tolist()] + joined_starts(pipeline)
    return [start for start in starts if start < OVER]


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
    """Whether a query is safe, what is left before input ends, and its text."""
    rng = Random(seed)
    streams = {name: Stream(random_schemes(rng), rng.choice(ENDS)) for name in NAMES}
    path = write_script(rng, folder, streams, random_query(rng))
    query = query_of(path)
    return verdict(query).safe, old(fed(path, rng.choice([7, 20, 40]))), query.text


@seeds(8)
def test_a_safe_query_keeps_nothing_of_what_is_over(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_release, "TUPLES_BETWEEN_RELEASES", 0)
    for number in range(3):
        safe, left, text = run(100 * seed + number, tmp_path / str(number))
        assert not (safe and left), text


def test_some_of_them_are_safe_and_others_keep_rows(tmp_path: Path) -> None:
    safe, keeping = count_outcomes(run, 24, tmp_path)
    assert safe > 5 and keeping > 3


def test_groups_over_a_projection_that_is_too_large_to_be_written_in_place(tmp_path: Path) -> None:
    """Its rows are an item of the block; what is promised beneath it frees the groups above all the same."""
    rows = "SELECT x.a AS k, x.b * y.b AS v FROM x, y WHERE x.a = y.a"
    for level in range(9):
        rows = f"SELECT k, v * v AS v FROM ({rows}) t{level}"
    streams = {name: Stream([("a",)]) for name in "xyz"}
    for number, text in enumerate(
        (f"SELECT DISTINCT k, v FROM ({rows}) u", f"SELECT k, v FROM ({rows}) u UNION SELECT a, b FROM z")
    ):
        path = write_script(Random(number), tmp_path / str(number), streams, text)
        pipeline = fed(path, 20)
        assert "merge" in {node.kind for node in pipeline.network.nodes.values()}
        assert verdict(query_of(path)).safe and old(pipeline) == []
        assert sum(map(len, pipeline.records))
