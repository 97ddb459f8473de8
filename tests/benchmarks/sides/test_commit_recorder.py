"""What was committed when, and who waits for it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from benchmarks.harness.measure import Mark
from benchmarks.sides.commit_recorder import AwaitedQuery, CommitRecorder, waits
from benchmarks.sides.on_service import between

from benchmarks.sides import on_service
from seine.errors import RunError
from seine.runtime.output.totals import Totals


def _committed(recorder: CommitRecorder, entry: int, **outputs: int) -> None:
    totals = Totals(entry=entry, batches=entry + 1, input_rows=100 * (entry + 1), outputs=outputs)
    recorder(SimpleNamespace(totals=totals))  # type: ignore[arg-type]


def test_batches_are_counted_up_to_the_first_result() -> None:
    recorder = CommitRecorder(lambda batch, rows, out: Mark(batch, 2.0 * batch, 3.0 * batch, rows, out))
    recorder.expect("quick")
    recorder.expect("slow")
    for entry, outputs in enumerate([{"old": 4}, {"quick": 1}, {"quick": 2}, {"quick": 2, "slow": 1}]):
        _committed(recorder, entry, **outputs)
    assert {name: first.entry for name, first in recorder.firsts.items()} == {"quick": 1, "slow": 3}
    awaited = [AwaitedQuery("quick", 0.0, -1, 1), AwaitedQuery("slow", 0.0, 0, 2)]
    assert [(one.batches, one.since_call) for one in waits(awaited, recorder.firsts)] == [(1, 2), (2, 3)]
    with pytest.raises(RunError, match="query silent, registered from entry 2 on, has no result"):
        waits([AwaitedQuery("silent", 0.0, 0, 2)], recorder.firsts)
    assert between(recorder.marks, 1, 3, True, 5) == on_service.ServiceStretch(True, 2, 200, 4.0, 6.0, 5)


def test_who_waits_for_batches_learns_of_the_end() -> None:
    recorder = CommitRecorder()
    assert not recorder.wait(1, 0.0)
    _committed(recorder, 0)
    assert recorder.wait(1)
    recorder.end()
    assert recorder.wait(1)
    with pytest.raises(RunError, match="ended after 1 of 2 micro-batches"):
        recorder.wait(2)
