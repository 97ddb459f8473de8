"""What is kept of the last micro-batches: what each brought, and what its tasks reported."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.service_rig import Rig, rig_of_two_streams


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    yield from rig_of_two_streams(tmp_path)


def test_batches_have_their_rows_stages_and_what_nodes_sent(rig: Rig) -> None:
    rig.register("CREATE QUERY j AS SELECT s.a FROM s, t WHERE s.a = t.a AND s.a > 1;")
    rig.feed(1, 2, 3)
    rig.feed(2, stream="t")
    rig.run()
    rig.feed(9)
    rig.run()
    recent, nodes = rig.service.recent, rig.service.published.view.nodes
    assert [one.entry for one in recent.batches] == list(range(len(recent.batches)))
    assert sum(one.input_rows for one in recent.batches) == 5
    assert sum(one.output_rows for one in recent.batches) == 1
    assert all(one.seconds >= 0 and {*one.work.stages} == {0, 1, 2} for one in recent.batches)
    sent = {
        kind: sum(
            rows for one in recent.batches for i, rows in one.work.sent.items() if nodes[i].kind == kind
        )
        for kind in ("source", "join")
    }
    assert sent == {"source": 5, "join": 1}
    assert {nodes[i].kind for i, rate in recent.rates().items() if rate > 0} >= {"source", "join"}
