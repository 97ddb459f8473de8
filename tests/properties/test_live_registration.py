"""Queries that come and go at random: each reports what a network of its own would, fed from its position."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random

import pytest

from seine.network.plan.strategy import CONFIGURATIONS, Strategy
from seine.operators.group import dormant_groups
from tests.support.live_stories import STREAMS, Story, line_of, reported_alone
from tests.support.seeds import seeds

STATELESS = (
    "SELECT v FROM s WHERE v > {c}",
    "SELECT k, v + {c} AS w FROM s WHERE k = {d}",
    "SELECT v FROM s WHERE v BETWEEN {d} AND {c} OR k = 1",
    "SELECT t.v, r.w FROM t, r WHERE t.k = r.k AND r.w > {d}",
)
STATEFUL = (
    "SELECT s.v AS a, t.v AS b FROM s, t WHERE s.k = t.k AND s.v > {c}",
    "SELECT s.v AS a, t.v AS b FROM s, t WHERE s.k = t.k AND s.v > t.v + {d}",
    "SELECT a.ts AS x, b.ts AS y FROM s a, s b WHERE a.k = b.k AND a.ts < b.ts AND b.ts <= a.ts + {d}",
    "SELECT a.v AS x, b.v AS y, t.v AS z FROM s a, s b, t WHERE a.k = b.k AND b.k = t.k AND a.v < b.v - {d}",
    "SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s GROUP BY k",
    "SELECT k, MAX(v) AS top FROM s WHERE v < {c} GROUP BY k HAVING MAX(v) > {d}",
    "SELECT COUNT(*) AS n FROM s, t WHERE s.k = t.k AND s.v > {d}",
    "SELECT DISTINCT k FROM s WHERE v > {c}",
    "SELECT k FROM s WHERE v > {d} UNION SELECT k FROM t",
    "SELECT k FROM s EXCEPT SELECT k FROM t WHERE v > {c}",
)
NESTED = (
    "SELECT k, v, ts, COUNT(*) AS n FROM s WHERE v <> 1 GROUP BY k, v, ts",
    "SELECT k, v, SUM(ts) AS total, MAX(ts) AS last FROM s WHERE v <> 1 GROUP BY k, v",
    "SELECT v, k, MIN(ts) AS first FROM s WHERE v <> 1 GROUP BY v, k",
    "SELECT k, AVG(v) AS mean, COUNT(DISTINCT v) AS n FROM s WHERE v <> 1 GROUP BY k",
    "SELECT v % 2 AS odd, MIN(ts) AS first, SUM(k) AS total FROM s WHERE v <> 1 GROUP BY v % 2",
    "SELECT COUNT(*) AS n, MAX(ts) AS last FROM s WHERE v <> 1",
)
SLEEPING = (
    "SELECT k % 2 AS odd, COUNT(*) AS n, SUM(v) AS total FROM s GROUP BY k % 2 HAVING COUNT(*) >= {c}",
    "SELECT k % 2 AS odd, COUNT(*) AS n, SUM(v) AS total FROM s GROUP BY k % 2 HAVING COUNT(*) >= 2",
    "SELECT k, COUNT(DISTINCT v) AS n, MAX(v) AS top FROM s GROUP BY k HAVING COUNT(*) > 1",
    "SELECT k FROM s GROUP BY k HAVING COUNT(*) >= 2 EXCEPT SELECT k FROM t WHERE v > {d}",
)


@seeds(4)
def test_stateless_queries_count_from_their_registration(seed: int) -> None:
    _check(Random(seed), STATELESS)


@seeds(4)
def test_all_queries_count_from_their_registration(seed: int) -> None:
    rng = Random(seed)
    _check(rng, tuple(rng.sample(STATELESS + STATEFUL, 3)))  # few of them, so that they share much


@seeds(4)
def test_coarser_groups_count_from_their_registration(seed: int) -> None:
    """Those that are registered between the same two entries are made of one another, whatever it saves."""
    regrouped = _check(Random(seed), NESTED, Strategy(regroup=1.0))
    if seed == 0:  # of the first story it is known that there are some
        assert regrouped


@seeds(4)
def test_groups_that_sleep_count_from_their_registration(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries that ask for fewer rows come to an aggregate whose groups sleep, and go again."""
    monkeypatch.setattr(dormant_groups, "LEAST_SLOTS_PUT_TO_SLEEP", 1)
    woken: list[int] = []
    turned = dormant_groups._turned
    monkeypatch.setattr(
        dormant_groups, "_turned", lambda batch: woken.append(batch.num_rows) or turned(batch)
    )
    _check(Random(seed + 1), SLEEPING)  # nothing comes of story 0
    if seed == 0:  # of the first story it is known that there are some
        assert sum(woken)


def _check(rng: Random, pool: tuple[str, ...], strategy: Strategy = CONFIGURATIONS["all"]) -> int:
    """Compare all survivors; the result is how many aggregates were made of finer ones at the end."""
    with tempfile.TemporaryDirectory() as name:
        story = Story(Path(name), strategy)
        for _ in range(rng.randint(15, 25)):
            _step(story, rng, pool)
        story.end()
        survivors = [one for one, life in story.lives.items() if not life.dropped]
        got = {one: story.records(one) for one in survivors}
        regrouped = sum(node.kind == "regroup" for node in story.service.registrar.network)
        story.service.close()
        expected = {one: reported_alone(story, one) for one in survivors}
    for one in survivors:
        life = story.lives[one]
        assert got[one] == expected[one], f"{one}: {life.sql} since {life.before}"
    assert survivors and any(expected.values())
    return regrouped


def _step(story: Story, rng: Random, pool: tuple[str, ...]) -> None:
    alive = [one for one, life in story.lives.items() if not life.dropped]
    what = rng.random()
    if what < 0.4 or not alive:
        sql = rng.choice(pool).format(c=rng.randint(2, 5), d=rng.randint(0, 2))
        story.begin(sql)
    elif what < 0.55 and len(alive) > 2:
        story.drop(rng.choice(alive))
    else:
        for _ in range(rng.randint(1, 6)):
            story.clock += rng.randint(0, 2)
            line = line_of(rng.randrange(4), rng.randrange(9), story.clock)
            story.feed(rng.choice(list(STREAMS)), [line])
        story.run()
