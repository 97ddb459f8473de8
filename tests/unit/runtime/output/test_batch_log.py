"""The log of micro-batches: what was settled is there again, whatever comes between."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from seine.errors import SeineError
from seine.graph.node import StatePlace
from seine.operators.limited.join_memory import MemoryAccount
from seine.runtime.folder.deployment import Deployment
from seine.runtime.output import batch_log
from seine.runtime.output.batch_log import BatchLog
from seine.runtime.output.segmented_file import LogSegment
from seine.storage.log import FencedError
from tests.support.seeds import seeds


@seeds(8)
def test_what_is_settled_survives_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(batch_log, "_LEAST_BYTES", 500)
    monkeypatch.setattr(batch_log, "_MOST_RECORDS", 20)
    rng, made = Random(seed), Deployment(str(tmp_path))
    settled: Counter[str] = Counter()
    batches, entry, crashes = BatchLog(made), -1, 0
    for _ in range(150):
        assert batches.totals.entry == entry and batches.totals.outputs == settled
        assert batches.totals.importance == {name: 0.5 * count for name, count in settled.items()}
        now = Counter(settled)
        gone = rng.sample(sorted(now), rng.randint(0, min(2, len(now))))
        batches.tally.forget(gone)
        for name in gone:
            del now[name]
        more = Counter({f"q{rng.randint(0, 30)}": rng.randint(1, 9) for _ in range(rng.randint(0, 6))})
        batches.tally.add(more)
        batches.tally.weigh({name: 0.5 * count for name, count in more.items()})
        if rng.random() < 0.2:  # a crash before it counts
            batches, crashes = BatchLog(made), crashes + 1
            continue
        entry, settled = entry + 1, now + more
        batches.settle(entry)
        if rng.random() < 0.8:
            batches.tidy()
        batches.totals.entry = entry
        if rng.random() < 0.2:
            batches, crashes = BatchLog(made), crashes + 1
    batches.tidy()
    records = [path for path in made.store.list("log/") if b" begin" not in made.store.get(path)[:60]]
    assert crashes > 3 and settled and len(records) <= 21


def test_all_that_is_counted_comes_back(tmp_path: Path) -> None:
    made = Deployment(str(tmp_path))
    one = BatchLog(made)
    totals = one.totals
    totals.state_rows, totals.port_rows, totals.cut = {7: 5}, {7: [2, 3]}, ["q"]
    totals.memory = {7: MemoryAccount(1, 2, float("inf"), 0.5)}
    totals.held = totals.held_peak = {(StatePlace(7), StatePlace(8, 1)): 9}
    totals.out_segments = (LogSegment(0, 1.0, 2.0), LogSegment(10))
    one.tally.add({"q": 2})
    one.settle(4)
    totals.entry = 4
    assert BatchLog(made).totals == totals


def test_of_two_that_write_the_first_is_refused(tmp_path: Path) -> None:
    made = Deployment(str(tmp_path))
    first, second = BatchLog(made), BatchLog(made)
    with pytest.raises(FencedError):
        first.settle(0)
    second.settle(0)
    assert BatchLog(made).totals.entry == 0


@pytest.mark.parametrize("harm", ["the whole one is gone", "one in between is gone", "one is empty"])
def test_a_log_that_lacks_something_is_refused(tmp_path: Path, harm: str) -> None:
    made = Deployment(str(tmp_path))
    batches = BatchLog(made)
    for entry in range(4):
        batches.tally.add({"q": 1})
        batches.settle(entry)
    names = [*made.store.list("log/")]
    made.store.delete([names[1 if "whole" in harm else 3]])
    if "empty" in harm:
        made.store.put(names[3], b"")
    with pytest.raises(SeineError, match="damaged"):
        BatchLog(made)
