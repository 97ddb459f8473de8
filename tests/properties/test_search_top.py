"""TOP beside the same search without it: the best trees of each period, and the best of those alive."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from seine.run_local import run_local
from tests.generators.scenario import Scenario
from tests.generators.searches import search_scenario
from tests.reference.verdict import start_of
from tests.support.seeds import seed_range, seeds

Record = dict[str, Any]


def _ranked(seed: int, clause: str) -> tuple[Scenario, list[str]]:
    """A scenario in which every search stands twice, once with the clause."""
    plain = search_scenario(seed, queries=4, stored=False)
    ranked = {f"top_{name}": f"{text} {clause}" for name, text in plain.queries.items()}
    return Scenario(plain.declarations, plain.queries | ranked, plain.lines), list(plain.queries)


def _is_calendar(scenario: Scenario) -> bool:
    return "ts TIMESTAMP" in scenario.declarations[0]


def _order(record: Record) -> tuple[int, float, str]:
    row = json.dumps(record["row"], ensure_ascii=False)
    return len(record["row"]["tuples"]), -start_of(record), row


def _text(record: Record) -> str:
    return json.dumps([record["op"], record["t_start"], record["t_end"], record["row"]])


@seeds(5)
def test_the_best_of_a_period_are_the_best_of_all_its_trees(seed: int, tmp_path: Path) -> None:
    left_out_of_periods(seed, tmp_path)


def test_some_trees_are_not_among_the_best_of_their_period(tmp_path: Path) -> None:
    assert any(left_out_of_periods(seed, tmp_path) for seed in seed_range(20))


def left_out_of_periods(seed: int, tmp_path: Path) -> int:
    """Check the best of periods in one scenario; how often others were left out."""
    rng = Random(seed)
    count, per = rng.randint(1, 4), rng.choice([2, 5, 20])
    calendar = _is_calendar(search_scenario(seed, stored=False))
    clause = f"TOP {count} PER INTERVAL '{per}' SECOND" if calendar else f"TOP {count} PER {per}"
    scenario, names = _ranked(seed, clause)
    path = scenario.write(tmp_path)
    left_out = 0
    for batch_rows in (None, 2):
        records = run_local(str(path), batch_rows=batch_rows).records
        for name in names:
            everything = [record for record in records if record["query"] == name]
            best = [record for record in records if record["query"] == f"top_{name}"]
            expected = _best_of_periods(everything, count, per * (10**6 if calendar else 1))
            assert Counter(map(_text, best)) == Counter(map(_text, expected)), name
            left_out += 0 < len(best) < len(everything)
    return left_out


def _best_of_periods(records: list[Record], count: int, per: int) -> list[Record]:
    """The best + records of each period, and the - records of these; equal ones are interchangeable."""
    periods: dict[float, list[Record]] = {}
    for record in records:
        if record["op"] == "+":
            periods.setdefault(start_of(record) // per, []).append(record)
    best = [one for trees in periods.values() for one in sorted(trees, key=_order)[:count]]
    chosen = Counter(json.dumps([one["t_start"], one["row"]]) for one in best)
    ends = []
    for record in sorted((one for one in records if one["op"] == "-"), key=_order):
        key = json.dumps([record["t_start"], record["row"]])
        if chosen[key]:
            chosen[key] -= 1
            ends.append(record)
    return best + ends


@seeds(5)
def test_at_every_instant_the_best_of_those_alive_are_there(seed: int, tmp_path: Path) -> None:
    count = Random(seed).randint(1, 4)
    scenario, names = _ranked(seed, f"TOP {count}")
    path = scenario.write(tmp_path)
    looked_at = 0
    for batch_rows in (None, 2):
        records = run_local(str(path), batch_rows=batch_rows).records
        for name in names:
            plain = [record for record in records if record["query"] == name]
            changes = [record for record in records if record["query"] == f"top_{name}"]
            for at in sorted({start_of(record) for record in (*plain, *changes)}):
                shown = _net([one for one in changes if start_of(one) <= at])
                alive = sorted(_alive(plain, at), key=_order)[:count]
                assert shown == Counter(json.dumps(one["row"]) for one in alive), (name, at)
                looked_at += len(alive)
    if seed == 0:  # of the first scenario it is known that there are some
        assert looked_at > 10


def _net(records: list[Record]) -> Counter[str]:
    net: Counter[str] = Counter()
    for record in records:
        assert record["t_end"] is None
        net[json.dumps(record["row"])] += 1 if record["op"] == "+" else -1
    assert min(net.values(), default=0) >= 0
    return +net


def _alive(records: list[Record], at: float) -> list[Record]:
    """The trees alive at an instant: those that have begun, less those that have ended early or late."""
    ended = Counter(_tree(one) for one in records if one["op"] == "-" and _end_of(one) <= at)
    alive = []
    for record in records:
        if record["op"] == "+" and start_of(record) <= at < _end_of(record):
            if ended[_tree(record)]:
                ended[_tree(record)] -= 1
            else:
                alive.append(record)
    return alive


def _tree(record: Record) -> str:
    return json.dumps([record["t_start"], record["row"]])


def _end_of(record: Record) -> float:
    return math.inf if record["t_end"] is None else start_of({"t_start": record["t_end"]})
