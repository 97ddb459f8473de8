"""Cures: every one heals, none can do with less, and no smaller set is overlooked in small queries."""

from __future__ import annotations

import random
from itertools import combinations
from time import process_time

import pytest

from seine.algebra.definitions import Scheme
from seine.safety.cures.cures import HittingSets, TooManyError, cures, heals
from seine.safety.cures.remedies import SchemeAddition
from seine.safety.cures.time_cures import time_cures
from seine.safety.states.check_plan import kept_scans
from tests.support.front_end import parse

DECLARED = """\
CREATE STREAM s (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 's';
CREATE STREAM t (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (b) FROM 't';
CREATE STREAM u (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (a) LIFESPAN 5 FROM 'u';
CREATE STREAM n (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (a) RETRACTABLE FROM 'n';
CREATE STREAM w (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 5 FROM 'w';
"""


def plan_of(sql):
    return parse(f"{DECLARED}CREATE QUERY q AS {sql};").declarations.queries["q"].plan


def cures_of(sql):
    return [" and ".join(map(str, cure)) for cure in cures(plan_of(sql))]


@pytest.mark.parametrize(
    ("sql", "ways"),
    [
        ("SELECT s.a FROM s, w WHERE s.a = w.a", ["w PUNCTUATED ON (a)", "a WINDOW on s"]),
        ("SELECT x.a FROM s x, s y WHERE x.a = y.a", ["s PUNCTUATED ON (a)", "a WINDOW on s"]),
        ("SELECT s.a FROM s, w WHERE s.a < w.a", ["a WINDOW on s"]),
        ("SELECT t.a FROM t, u WHERE t.b = u.a", ["u PUNCTUATED ON (a) without LIFESPAN", "a WINDOW on t"]),
        ("SELECT a FROM n", ["a WINDOW on n"]),
        ("SELECT n.a FROM n, w WHERE n.a = w.a", ["a WINDOW on n"]),
        ("SELECT a, COUNT(*) AS c FROM s GROUP BY a", ["s PUNCTUATED ON (a)", "a WINDOW on s"]),
        ("SELECT DISTINCT a + 1 AS k FROM s", ["a WINDOW on s"]),
    ],
)
def test_what_is_told(sql, ways):
    assert cures_of(sql) == ways


def test_the_smallest_sets_are_found():
    rng = random.Random(3)
    sizes = set()
    for _ in range(60):
        names = [rng.choice("stuw") for _ in range(rng.randrange(2, 5))]
        aliases = [f"{name} x{i}" for i, name in enumerate(names)]
        links = [
            f"x{rng.randrange(i)}.{rng.choice('ab')} = x{i}.{rng.choice('ab')}" for i in range(1, len(names))
        ]
        plan = plan_of(random_words(rng, ", ".join(aliases), " AND ".join(links)))
        if heals(plan, []):
            continue
        additions = cures(plan)
        assert additions and all(heals(plan, cure) for cure in additions)
        smallest = next(
            size
            for size in range(1, 9)
            if any(heals(plan, chosen) for chosen in combinations(possible(plan), size))
        )
        assert len(additions[0]) == smallest
        sizes.add(smallest)
    assert {1, 2} <= sizes


def random_words(rng, tables, links):
    """A join, or groups or distinct rows of one."""
    key = f"x0.{rng.choice('ab')}"
    return rng.choice(
        [
            f"SELECT {key} FROM {tables} WHERE {links}",
            f"SELECT {key} FROM {tables} WHERE {links}",
            f"SELECT {key} AS k, COUNT(*) AS n FROM {tables} WHERE {links} GROUP BY {key}",
            f"SELECT DISTINCT {key} AS k, x1.b AS l FROM {tables} WHERE {links}",
        ]
    )


def possible(plan):
    streams = {scan.stream.name: scan.stream for scan in kept_scans(plan)}.values()
    schemes = [SchemeAddition(s, (c,)) for s in streams for c in (0, 1) if Scheme((c,)) not in s.schemes]
    return [*schemes, *(SchemeAddition(s) for s in streams if s.window is None)]


def test_a_large_query_is_told_windows_at_once():
    names = ", ".join(f"s x{i}" for i in range(300))
    links = " AND ".join(f"x{i}.a = x{i + 1}.b" for i in range(299))
    assert cures_of(f"SELECT x0.a FROM {names} WHERE {links}") == ["a WINDOW on s"]


def streams_with(columns: int, count: int) -> str:
    fields = ", ".join(f"c{i} BIGINT" for i in range(columns))
    names = [f"s{i}" for i in range(count)]
    return "".join(
        f"CREATE STREAM {name} ({fields}, ts BIGINT) TIMESTAMP BY ts FROM 'x';\n" for name in names
    )


def large_plan(
    columns: int, links: list[tuple[int, int, int, int]], words: str = "SELECT s0.c0 FROM {t} {w}"
):
    """A query of many streams, by the columns that are equal."""
    count = 1 + max(max(i, j) for i, _, j, _ in links)
    where = f"WHERE {' AND '.join(f's{i}.c{c} = s{j}.c{d}' for i, c, j, d in links)}"
    sql = words.format(t=", ".join(f"s{i}" for i in range(count)), w=where)
    text = f"{streams_with(columns, count)}CREATE QUERY q AS {sql};"
    return parse(text).declarations.queries["q"].plan


GROUPED = "SELECT s0.c0, COUNT(*) AS n FROM {t} {w} GROUP BY s0.c0"


@pytest.mark.parametrize(
    "plan",
    [
        large_plan(20, [(i, (i + j) % 20, j, i * j % 20) for i in range(20) for j in range(i)]),
        large_plan(5, [(i, c, i + 1, c) for i in range(19) for c in range(5)]),
        large_plan(4, [(i, 1, i + 1, 0) for i in range(30)]),
        large_plan(7, [(i, c, i + 1, c) for i in range(9) for c in range(7)], GROUPED),
    ],
    ids=["all with all", "chain", "long chain", "grouped"],
)
def test_very_many_additions_are_answered_in_time(plan) -> None:
    """Each column of each stream may be promised: to try sets one after the other would take minutes."""
    started = process_time()
    additions = cures(plan)
    assert process_time() - started < 3
    assert additions and all(heals(plan, cure) for cure in additions)


def test_a_search_that_is_given_up_tells_a_cure_that_needs_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seine.safety.cures.cures.MOST_CUTS", 2)
    plan = large_plan(4, [(i, 1, (i + 1) % 9, 0) for i in range(9)])
    additions = cures(plan)
    assert [len(cure) for cure in additions] == [9, 9]
    for cure in additions:
        assert heals(plan, cure)
        assert not any(heals(plan, [one for one in cure if one != left]) for left in cure)


def test_smallest_hitting_sets() -> None:
    rng = random.Random(1)
    for _ in range(100):
        sets = [{rng.randrange(8) for _ in range(rng.randint(1, 4))} for _ in range(rng.randint(1, 7))]
        hitting = HittingSets(10_000)
        for one in sets:
            hitting.add(one)
        least, quick = hitting.smallest(), hitting.greedy()
        assert all(one & least and one & quick for one in sets)
        sizes = range(len(least))
        assert not any(all(one & {*c} for one in sets) for k in sizes for c in combinations(range(8), k))
        assert hitting.least == len(least)
    few = HittingSets(0)
    few.add([1])
    with pytest.raises(TooManyError):
        few.smallest()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT x.a FROM x LEFT JOIN y ON x.a = y.a",
        "SELECT a FROM x WHERE NOT EXISTS (SELECT 1 FROM y WHERE x.a = y.a)",
    ],
)
def test_rows_that_wait_for_partners_for_ever_are_told_a_range_of_times(query: str) -> None:
    names = ("x", "y")
    streams = [f"CREATE STREAM {n} (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM '{n}';" for n in names]
    plan = parse(f"{' '.join(streams)} CREATE QUERY q AS {query};").declarations.queries["q"].plan
    (words,) = time_cures(plan)
    assert words.startswith("add a condition such as y.ts BETWEEN x.ts AND x.ts + 60 to ON")


def test_a_range_of_times_is_told_in_the_words_of_the_query() -> None:
    script = """CREATE STREAM u (a BIGINT, kind INT, ts BIGINT) TIMESTAMP BY ts FROM 'u';
      CREATE VIEW x AS SELECT a, ts FROM u WHERE kind = 1;
      CREATE VIEW y AS SELECT a, ts FROM u WHERE kind = 2;
      CREATE QUERY q AS SELECT p.a FROM x p JOIN y o ON p.a = o.a;"""
    (words,) = time_cures(parse(script).declarations.queries["q"].plan)
    assert words.startswith("add a condition such as o.ts BETWEEN p.ts AND p.ts + 60")
