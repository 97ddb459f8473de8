"""The net of micro-batches of a changelog, against its rows, whatever the order within a micro-batch."""

from __future__ import annotations

from collections import Counter
from random import Random

from seine.sinks.postgres_tables import Row, net_changes
from tests.support.seeds import seeds


@seeds(20)
def test_the_nets_lead_to_the_rows_that_live_at_the_end(seed: int) -> None:
    random = Random(seed)
    live: dict[str | None, Row] = {}
    table: Counter[Row] = Counter()
    sizes = []
    for _ in range(12):
        batch: list[tuple[bool, Row]] = []
        for _ in range(random.randrange(30)):
            key = random.choice(["a", "b", None])
            before = live.pop(key, None)
            after: Row | None = (key, random.choice(["1", "2", None])) if random.random() < 0.7 else None
            if before is not None:
                batch.append((False, before))
            if after is not None:
                live[key] = after
                batch.append((True, after))
        random.shuffle(batch)
        net = net_changes(batch, [0])
        sizes.append(len(net.rows))
        table = Counter(row for row in table if row[:1] not in net.keys)
        table.update(net.rows)
        assert table == Counter(live.values())

    assert sum(sizes) > 5
