"""Trees that wait for deletions: what is kept of them, and for how long."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from seine.operators.search.retractable_trees import MEMBERS, RetractableTrees, members_of
from seine.operators.state.store import MemoryStore
from seine.rows.clock import Clock
from seine.rows.delta import Delta

FILM, NEWS = 1, 2
NAMES = {FILM: "film", NEWS: "news"}


def _clock(film: int, news: int) -> Clock:
    now = max(film, news)
    return Clock({"film": film, "news": news}, {"plain": now}, {"film": "plain", "news": "plain"})


def _trees(tables: list[int], number: int, start: int, end: int) -> pa.RecordBatch:
    """One tree, whose tuples have the same number in each of the tables."""
    wide = np.array([tables]), np.full((1, len(tables)), number)
    columns = {"_s": [start], "_e": [end], "_i0": [100 * number + start], "c0": [7]}
    texts = {f"c{i}": ["[]"] for i in (1, 2, 3)}
    return pa.record_batch(columns | texts).append_column(MEMBERS, members_of(*wide, np.array([FILM, NEWS])))


def _deletion(start: int, end: int, early: int) -> pa.RecordBatch:
    return pa.record_batch({"_s": [start], "_e": [end], "_d": [early]})


def _step(trees: RetractableTrees, clock: Clock, bound: int) -> list[tuple[str, int, int]]:
    """What becomes certain: sign, start and end of each tree; `bound` is that of both tables."""
    out = []
    for delta in trees.release(clock):
        assert isinstance(delta, Delta)
        out += [("+", row["_s"], row["_e"]) for row in delta.plus.to_pylist()]
        out += [("-", row["_s"], row["_d"]) for row in (delta.minus.to_pylist() if delta.minus else [])]
    trees.settle(clock, {FILM: bound, NEWS: bound})
    return out


def test_silent_stream_holds_up_only_what_has_a_tuple_of_it() -> None:
    store = MemoryStore(0)
    trees = RetractableTrees(store, NAMES)
    trees.wait([FILM], _trees([FILM], 1, 3, 9))
    trees.wait([FILM, NEWS], _trees([FILM, NEWS], 1, 4, 9))
    assert _step(trees, _clock(5, 0), 0) == [("+", 3, 9)]
    assert len(store.runs) == 3, "one tree waits, and the other is remembered with its link"
    assert _step(trees, _clock(20, 0), 0) == []
    assert len(store.runs) == 1, "no deletion of film can end a tree before 20 any more"
    assert _step(trees, _clock(20, 20), 20) == [("+", 4, 9)]
    assert not store.runs


def test_deletion_is_remembered_while_its_tuple_may_get_partners() -> None:
    store = MemoryStore(0)
    trees = RetractableTrees(store, NAMES)
    trees.cut(np.array([FILM]), np.array([1]), _deletion(1, 16, 10))
    assert _step(trees, _clock(90, 90), 5) == []
    trees.wait([FILM], _trees([FILM], 1, 6, 16))
    trees.wait([FILM], _trees([FILM], 1, 12, 16))
    assert _step(trees, _clock(90, 90), 5) == [("+", 6, 16), ("-", 6, 10)]
    assert _step(trees, _clock(90, 90), 16) == []
    assert not store.runs and not [name for name in store.head if name.startswith("cuts")]


def test_deletion_ends_only_trees_with_its_tuple() -> None:
    trees = RetractableTrees(MemoryStore(0), NAMES)
    for number in (1, 2):
        trees.wait([FILM, NEWS], _trees([FILM, NEWS], number, 3, 9))
    assert _step(trees, _clock(5, 5), 0) == [("+", 3, 9)] * 2
    trees.cut(np.array([NEWS, FILM]), np.array([2, 7]), pa.concat_batches([_deletion(1, 9, 6)] * 2))
    assert _step(trees, _clock(7, 6), 0) == []
    assert _step(trees, _clock(7, 7), 0) == [("-", 3, 6)]
