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
from tests.generators.freed_queries import ENDS, NAMES, random_group_query
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


def old(pipeline: Pipeline) -> list[int]:
    """When the tuples began that something is held for and that are over."""
    live_starts = [
        s for store in pipeline.stores() for name in ("groups", "rows") for s in _live(store, name)
    ]
    starts = [start for starts in live_starts for start in starts.tolist()] + joined_starts(pipeline)
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
    path = write_script(rng, folder, streams, random_group_query(rng))
    query = query_of(path)
    return verdict(query).safe, old(fed(path, rng.choice([7, 20, 40]))), query.text


@seeds(5)
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
