"""The records of a search begin in ascending order within a micro-batch, however many buckets find them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

from seine.run_local import run_local
from tests.generators.searches import search_scenario
from tests.support.seeds import seeds


def _starts(records: list[dict[str, object]]) -> dict[object, list[object]]:
    """Of each query, when its records begin, as they were told."""
    starts: dict[object, list[object]] = {}
    for record in records:
        if record["op"] == "+":
            starts.setdefault(record["query"], []).append(record["t_start"])
    return starts


@seeds(12)
def test_one_micro_batch(seed: int, tmp_path: Path) -> None:
    scenario = search_scenario(seed, queries=8, rows=40)
    best = {} if "ts TIMESTAMP" in "".join(scenario.declarations) else {"best": "SEARCH 'amber' TOP 2 PER 5"}
    script = replace(scenario, queries={**scenario.queries, **best}).write(tmp_path)
    records_by_buckets: list[Counter[str]] = []
    for buckets in (1, 3, 8):
        records = run_local(str(script), buckets=buckets).records
        starts = _starts(records)
        assert all(times == sorted(times, key=_key) for times in starts.values())
        records_by_buckets.append(
            Counter(json.dumps(record, sort_keys=True, default=str) for record in records)
        )
        ended: Counter[str] = Counter()
        for record in reversed(records):  # an end comes after its beginning
            text = json.dumps({**record, "op": "", "t_end": ""}, sort_keys=True, default=str)
            if record["op"] == "-":
                ended[text] += 1
            else:
                ended[text] = max(0, ended[text] - 1)
        assert not +ended
    assert records_by_buckets[0] == records_by_buckets[1] == records_by_buckets[2]
    assert max(map(len, starts.values()), default=0) > 1


def _key(time: object) -> object:
    return time if isinstance(time, int) else str(time)
