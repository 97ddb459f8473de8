"""Joins of many inputs against nested loops, and chained purge against the definition of purgeability."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from seine.algebra.types import BIGINT, STRING
from seine.operators.multi_join import chained_purge, multi_join
from seine.operators.multi_join.multi_join import LAZY, PurgePace
from seine.operators.multi_join.multi_join_shape import TimeBound
from seine.rows import grouping
from tests.support.multi_join_streams import (
    Drive,
    Punctuation,
    Setting,
    Tuple,
    all_punctuations,
    lasting,
    random_events,
    random_setting,
    reached,
    results,
    with_relation,
)
from tests.support.seeds import seed_range

DOMAINS = {"lasting": [0, 1], "timed": [0, 1], "relations": [0, 1], "strings": ["a", "long " * 9]}


@pytest.mark.parametrize("kind", DOMAINS)
def test_it_is_a_nested_loop_and_holds_exactly_what_can_still_join(kind: str) -> None:
    """After each step the state is what the definition of purgeability leaves of all that ever came."""
    domain, total, purged, kept = DOMAINS[kind], 0, 0, 0
    for seed in seed_range(12):
        rng = random.Random(seed)
        setting = random_setting(rng, kind == "timed", STRING if kind == "strings" else BIGINT)
        if kind == "relations":
            setting = with_relation(rng, random_setting(rng, width=rng.choice([2, 3])), domain)
        rate = 0.15 if kind == "relations" else 0.4
        events = random_events(rng, setting, rng.randint(4, 12), domain, rate)
        drive = Drive(setting, events, rng, rng.randint(1, 6))
        for _ in drive:
            expected = lasting(setting, drive.came, drive.punctuations, drive.lows, domain)
            assert drive.held() == expected, seed
            kept += expected.total()
            purged += sum(map(len, drive.came)) - expected.total()
        assert drive.output == results(setting, drive.came), seed
        total += drive.output.total()
    assert min(total, purged, kept) > 40


@pytest.mark.parametrize("how", ["lazy", "few chains at once", "rarely written"])
def test_no_way_to_purge_changes_an_answer(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pace, total = multi_join.EAGER, 0
    if how == "lazy":
        pace = PurgePace(punctuation=2, row=1, small=5)
    elif how == "few chains at once":
        monkeypatch.setattr(chained_purge, "MOST_CHAINS_AT_ONCE", 2)
        monkeypatch.setattr(grouping.ranges, "__defaults__", (3,))
    else:
        monkeypatch.setattr(multi_join, "LEAST_ROWS_TO_COMPACT", 2)
    for seed in seed_range(16, first=100):
        rng = random.Random(seed)
        setting = random_setting(rng, timed=seed % 2 == 0)
        drive = Drive(setting, random_events(rng, setting, 40, [0, 1, 2]), rng, rng.randint(2, 12), pace)
        for _ in drive:
            pass
        assert drive.output == results(setting, drive.came), seed
        total += drive.output.total()
    assert total > 500


@pytest.mark.parametrize("pace", [multi_join.EAGER, LAZY])
def test_when_all_is_punctuated_no_tuple_of_a_safe_port_is_left(pace: PurgePace) -> None:
    """And one that promises cannot finish is left: something legal joins it anew (Theorem 1)."""
    safe = unsafe = 0
    for seed in seed_range(32, first=200):
        rng = random.Random(seed)
        setting = random_setting(rng)
        events = random_events(rng, setting, 8, [0, 1], rate=0.2)
        last = all_punctuations(setting, [0, 1], 30)
        for port in range(setting.width):
            events[port] += last[port]
        drive = Drive(setting, events, rng, rng.randint(1, 6), pace)
        for _ in drive:
            pass
        drive.idle()
        left = {one.port for one in drive.held()}
        could = {one.port for one in lasting(setting, drive.came, drive.punctuations, drive.lows, [0, 1])}
        assert left == could, seed
        purgeable = {port for port in range(setting.width) if len(reached(setting, port)) == setting.width}
        assert not left & purgeable, seed
        safe, unsafe = safe + len(purgeable), unsafe + len(left)
    assert min(safe, unsafe) > 20


def test_punctuations_purge_punctuations() -> None:
    """A chain with a middle punctuated on both columns ends empty; a cycle needs its promises for ever."""
    chain = Setting(
        ((None, 0), (0, 1), (1, None)),
        (None,) * 3,
        ((((1,), None),), (((0,), None), ((1,), None)), (((0,), None),)),
    )
    cycle = Setting(
        ((2, 0), (0, 1), (1, 2)), (None,) * 3, ((((1,), None),), (((1,), None),), (((1,), None),))
    )
    for setting, left in ((chain, 0), (cycle, 6)):
        rng = random.Random(1)
        events = random_events(rng, setting, 10, [0, 1], rate=0)
        for port, punctuations in enumerate(all_punctuations(setting, [0, 1], 30)):
            events[port] += punctuations
        drive = Drive(setting, events, rng, 3)
        for _ in drive:
            pass
        assert not drive.held() and drive.punctuations_held() == left == drive.sizes[-1]
        assert drive.output.total() > 10


def test_a_partner_that_expires_finishes_a_tuple_whatever_a_third_may_send() -> None:
    setting = Setting(((0,), (0, 1), (1,)), (None, 10, 10), ((), (((0,), None),), ()), lateness=0)
    events: list[list[Tuple | Punctuation]] = [
        [Tuple(0, 0, 2**63 - 1, (1,)), Tuple(0, 50, 2**63 - 1, (9,))],
        [Tuple(1, 5, 15, (1, 7)), Punctuation(1, 0, (1,), 6, 2**63 - 1), Tuple(1, 50, 60, (2, 7))],
        [Tuple(2, 50, 60, (8,))],
    ]
    drive = Drive(setting, events, random.Random(0), 1)
    for _ in drive:
        pass
    assert Tuple(0, 0, 2**63 - 1, (1,)) not in drive.held()
    assert Tuple(0, 50, 2**63 - 1, (9,)) in drive.held()


def test_time_bounds_close_ports_too() -> None:
    """Rows go that no later one is near enough to; whatever satisfies the bounds is told."""
    kept = bounded = 0
    for seed in seed_range(10, first=300):
        rng = random.Random(seed)
        setting = random_setting(rng, timed=seed % 2 == 0)
        columns = tuple((*groups_of, None, None) for groups_of in setting.columns)
        setting = replace(setting, columns=columns)
        ports = rng.sample(range(setting.width), 2)
        last = len(columns[ports[1]]) - 1
        sums = [((last, 1),), ((last - 1, 1),), ((last - 1, 1), (last, -1))]
        choices = tuple({(terms, rng.randint(0, 12)) for terms in rng.sample(sums, 2)})
        bound = TimeBound(ports[0], ports[1], choices)
        near = replace(setting, bounds=(bound,))
        events = random_events(rng, setting, 12, [0, 1])
        drives = [Drive(given, events, random.Random(seed), 4) for given in (near, setting)]
        for _ in zip(*drives, strict=True):
            expected = lasting(near, drives[0].came, drives[0].punctuations, drives[0].lows, [0, 1])
            assert not expected - drives[0].held(), seed
        assert not results(near, drives[0].came) - drives[0].output, seed
        kept += sum(drives[1].sizes)
        bounded += sum(drives[0].sizes)
    assert 0 < bounded < kept
