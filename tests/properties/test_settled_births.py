"""Queries of random births come to share groups, and report what they would report alone.

Two references: brute force over the tuples of each query, instant by instant, and the query alone in a
service of its own.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from seine.network.plan.strategy import CONFIGURATIONS, Strategy
from seine.service.tail import read_records
from tests.support.live_stories import END, STREAMS, Story, line_of, reported_alone
from tests.support.seeds import seed_range

Tuples = list[dict[str, int]]
Rows = Counter[tuple[Any, ...]]

WINDOWS = {"s": 8, "t": 5}


def _groups(rows: Iterable[dict[str, int]], key: Callable[[dict[str, int]], Any]) -> dict[Any, Tuples]:
    groups: dict[Any, Tuples] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def _counts(s: Tuples, t: Tuples) -> Rows:
    return Counter((k, len(rows)) for k, rows in _groups(s, lambda row: row["k"]).items())


def _sums(s: Tuples, t: Tuples) -> Rows:
    groups = _groups(s, lambda row: row["k"])
    return Counter((k, len(rows), sum(row["v"] for row in rows)) for k, rows in groups.items())


def _tops(s: Tuples, t: Tuples) -> Rows:
    groups = _groups((row for row in s if row["v"] < 6), lambda row: row["k"])
    return Counter((k, max(row["v"] for row in rows)) for k, rows in groups.items())


def _total(s: Tuples, t: Tuples) -> Rows:
    return Counter([(len(s),)])


def _large(s: Tuples, t: Tuples) -> Rows:
    groups = _groups(s, lambda row: row["k"] % 2)
    return Counter((odd, len(rows)) for odd, rows in groups.items() if len(rows) >= 2)


def _distinct(s: Tuples, t: Tuples) -> Rows:
    return Counter({(row["k"],) for row in s if row["v"] > 3})


def _union(s: Tuples, t: Tuples) -> Rows:
    return Counter({(row["k"],) for row in [*(r for r in s if r["v"] > 3), *t]})


def _except(s: Tuples, t: Tuples) -> Rows:
    return Counter({(row["k"],) for row in s} - {(row["k"],) for row in t if row["v"] > 4})


def _joined(s: Tuples, t: Tuples) -> Rows:
    pairs = [{"k": a["k"], "v": b["v"]} for a in s for b in t if a["k"] == b["k"]]
    return Counter((k, len(rows)) for k, rows in _groups(pairs, lambda row: row["k"]).items())


def _beneath(s: Tuples, t: Tuples) -> Rows:
    sizes = {k: len(rows) for k, rows in _groups(s, lambda row: row["k"]).items()}
    return Counter((sizes[row["k"]], row["v"]) for row in t if row["k"] in sizes)


def _fine(s: Tuples, t: Tuples) -> Rows:
    return Counter((k, v, len(rows)) for (k, v), rows in _groups(s, lambda row: (row["k"], row["v"])).items())


POOL: dict[str, Callable[[Tuples, Tuples], Rows]] = {
    "SELECT k, COUNT(*) AS n FROM s GROUP BY k": _counts,
    "SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s GROUP BY k": _sums,
    "SELECT k, MAX(v) AS top FROM s WHERE v < 6 GROUP BY k": _tops,
    "SELECT COUNT(*) AS n FROM s": _total,
    "SELECT k % 2 AS odd, COUNT(*) AS n FROM s GROUP BY k % 2 HAVING COUNT(*) >= 2": _large,
    "SELECT DISTINCT k FROM s WHERE v > 3": _distinct,
    "SELECT k FROM s WHERE v > 3 UNION SELECT k FROM t": _union,
    "SELECT k FROM s EXCEPT SELECT k FROM t WHERE v > 4": _except,
    "SELECT s.k, COUNT(*) AS n FROM s, t WHERE s.k = t.k GROUP BY s.k": _joined,
    "SELECT g.n, t.v FROM (SELECT k, COUNT(*) AS n FROM s GROUP BY k) g, t WHERE g.k = t.k": _beneath,
    "SELECT k, v, COUNT(*) AS n FROM s GROUP BY k, v": _fine,
}


@dataclass
class BornStory(Story):
    """A story that remembers with which birth each query began."""

    born: dict[str, int] = field(default_factory=dict)


def births(story: Story) -> dict[str, int]:
    return {key: one.birth_epoch for key, one in story.service.registrar.view.registered.items()}


KIN = [sql for sql in POOL if "WHERE" not in sql and "FROM s" in sql and "t" not in sql.split()]


def test_queries_that_share_groups_report_what_they_report_alone() -> None:
    checked = Checked()
    for seed in seed_range(3):
        rng = Random(seed)
        checked.check(seed, rng.sample([*POOL], 2), CONFIGURATIONS["all"])
    assert checked.moved.total() > 3 and len(+checked.moved) > 1
    assert checked.reported > 100 and checked.restarts > 1


def test_kin_by_other_functions_and_keys_comes_to_share() -> None:
    """All queries group the same rows, and are made of one another whatever it saves."""
    checked = Checked()
    for seed in seed_range(3):
        checked.check(100 + seed, KIN, Strategy(regroup=1.0))
    assert checked.moved.total() > 3 and len(+checked.moved) > 1
    assert checked.reported > 100 and checked.regrouped > 1


@dataclass
class Checked:
    """What came of some stories: which queries went over to other groups, and how much was reported."""

    moved: Counter[str] = field(default_factory=Counter)
    reported: int = 0
    restarts: int = 0
    regrouped: int = 0

    def check(self, seed: int, pool: list[str], strategy: Strategy) -> None:
        rng = Random(seed)
        with tempfile.TemporaryDirectory() as name:
            story = BornStory(Path(name), strategy)
            for _ in range(rng.randint(25, 40)):
                self.restarts += _step(story, rng, pool)
            story.end()
            for one, life in story.lives.items():
                if not life.dropped:
                    self._compare(story, one, f"seed {seed}, {one}: {life.sql} since {life.before}")
            self.regrouped += sum(node.kind == "regroup" for node in story.service.registrar.network)
            story.service.close()

    def _compare(self, story: BornStory, name: str, what: str) -> None:
        net, moved = _net(story, name), births(story)[name] != story.born[name]
        assert net == _brute_force(story, name), f"{what}, moved {moved}"
        assert story.records(name) == reported_alone(story, name), f"{what}, moved {moved}"
        self.reported += sum(map(len, net.values()))
        self.moved[story.lives[name].sql] += moved


def _step(story: BornStory, rng: Random, pool: list[str]) -> int:
    alive = [one for one, life in story.lives.items() if not life.dropped]
    what = rng.random()
    if what < 0.2 or not alive:
        story.begin(rng.choice(pool))
        story.born = {**births(story), **story.born}
    elif what < 0.27 and len(alive) > 2:
        story.drop(rng.choice(alive))
    elif what < 0.35:
        story.restart()
        return 1
    else:
        for _ in range(rng.randint(1, 6)):
            story.clock += rng.randint(0, 3)
            line = line_of(rng.randrange(3), rng.randrange(9), story.clock)
            story.feed(rng.choice(list(STREAMS)), [line])
        story.run()
    return 0


def _net(story: BornStory, name: str) -> dict[int, Rows]:
    """By how much the result changed at each instant; the beginning is an instant, too."""
    page = read_records(story.service.sink.index, name, 0, 1 << 30)
    net: dict[int, Rows] = {}
    for record in map(json.loads, page.lines.splitlines()):
        instant = record["t_start"] if record["t_start"] is not None else -1
        if instant < END:
            changed = net.setdefault(instant, Counter())
            changed[tuple(record["row"].values())] += 1 if record["op"] == "+" else -1
    return _without_nothing(net)


def _brute_force(story: BornStory, name: str) -> dict[int, Rows]:
    """The same, by the result over the live tuples at every instant."""
    life = story.lives[name]
    tuples = {
        stream: [json.loads(line) for line in lines[life.before[stream] :]]
        for stream, lines in story.lines.items()
    }
    net: dict[int, Rows] = {}
    before: Rows = Counter()
    ends = [(row["ts"], row["ts"] + WINDOWS[stream]) for stream, rows in tuples.items() for row in rows]
    for instant in sorted({-1, *(time for both in ends for time in both if time < END)}):
        live = {
            stream: [row for row in rows if row["ts"] <= instant < row["ts"] + WINDOWS[stream]]
            for stream, rows in tuples.items()
        }
        after = POOL[life.sql](live["s"], live["t"])
        net[instant] = Counter(after)
        net[instant].subtract(before)
        before = after
    return _without_nothing(net)


def _without_nothing(net: dict[int, Rows]) -> dict[int, Rows]:
    kept = {instant: Counter({row: n for row, n in rows.items() if n}) for instant, rows in net.items()}
    return {instant: rows for instant, rows in kept.items() if rows}
