"""Cures: every one heals, none can do with less, and no smaller set is overlooked in small queries."""

from __future__ import annotations

import random
from itertools import combinations
from time import process_time

import pytest

from seine.algebra.definitions import Scheme
from seine.safety.cures import Addition, cures, heals
from seine.safety.state import kept_scans
from tests.unit.front_end import parse

DECLARED = """\
CREATE STREAM s (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 's';
CREATE STREAM t (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (b) FROM 't';
CREATE STREAM u (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (a) LIFESPAN 5 FROM 'u';
CREATE STREAM n (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (a) RETRACTABLE FROM 'n';
CREATE STREAM w (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 5 FROM 'w';
"""


def plan_of(sql):
    return parse(f"{DECLARED}CREATE QUERY q AS {sql};").declarations.queries["q"].plan


def told(sql):
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
    assert told(sql) == ways


def test_the_smallest_sets_are_found():
    rng = random.Random(3)
    sizes = set()
    for _ in range(60):
        names = [rng.choice("stuw") for _ in range(rng.randrange(2, 5))]
        aliases = [f"{name} x{i}" for i, name in enumerate(names)]
        links = [
            f"x{rng.randrange(i)}.{rng.choice('ab')} = x{i}.{rng.choice('ab')}" for i in range(1, len(names))
        ]
        plan = plan_of(f"SELECT x0.a FROM {', '.join(aliases)} WHERE {' AND '.join(links)}")
        if heals(plan, []):
            continue
        found = cures(plan)
        assert found and all(heals(plan, cure) for cure in found)
        smallest = next(
            size
            for size in range(1, 9)
            if any(heals(plan, chosen) for chosen in combinations(possible(plan), size))
        )
        assert len(found[0]) == smallest
        sizes.add(smallest)
    assert {1, 2} <= sizes


def possible(plan):
    streams = {scan.stream.name: scan.stream for scan in kept_scans(plan)}.values()
    schemes = [Addition(s, (c,)) for s in streams for c in (0, 1) if Scheme((c,)) not in s.schemes]
    return [*schemes, *(Addition(s) for s in streams if s.window is None)]


def test_a_large_query_is_told_windows_at_once():
    names = ", ".join(f"s x{i}" for i in range(300))
    links = " AND ".join(f"x{i}.a = x{i + 1}.b" for i in range(299))
    assert told(f"SELECT x0.a FROM {names} WHERE {links}") == ["a WINDOW on s"]


def test_very_many_equalities_are_answered_in_time() -> None:
    """Each column of each stream would be a scheme that may help: choosing among them would take minutes."""
    columns = ", ".join(f"c{i} BIGINT" for i in range(20))
    names = [f"s{i}" for i in range(20)]
    tables = "".join(
        f"CREATE STREAM {name} ({columns}, ts BIGINT) TIMESTAMP BY ts FROM 'x';\n" for name in names
    )
    pairs = [(i, j) for i in range(20) for j in range(i)]
    equal = " AND ".join(f"s{i}.c{(i + j) % 20} = s{j}.c{i * j % 20}" for i, j in pairs)
    text = f"{tables}CREATE QUERY q AS SELECT s0.c0 FROM {', '.join(names)} WHERE {equal};"
    plan = parse(text).declarations.queries["q"].plan
    started = process_time()
    (cure,) = cures(plan)
    assert process_time() - started < 10
    assert heals(plan, cure) and [str(one) for one in cure] == [f"a WINDOW on {name}" for name in names]
