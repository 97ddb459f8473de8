"""Coarser groups made of the parts of finer ones, against brute force over the rows, under many cuts."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest

from seine.algebra import aggregates
from seine.algebra.expressions import Column
from seine.algebra.plan import AggregateCall
from seine.algebra.types import BIGINT, DOUBLE
from seine.operators.group.aggregate import AggregateNode, AggregateOperator
from seine.operators.state.store import MemoryStore
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, NEVER, Delta, PartialAggregates
from tests.support.aggregate_law import (
    CALLS,
    N,
    S,
    X,
    aggregate,
    call,
    node,
    random_value,
    reference,
    world,
)
from tests.support.changelog_law import Row, World, batch_of, check, drive
from tests.support.regrouped_chain import Chain, behind, coarser, everything
from tests.support.seeds import seeds

FINE = (Column(0, S.type), Column(1, X.type), S)
CARRIED = tuple(one for one in CALLS if not one.is_holistic)
OVER_KEYS = (
    call("count", S, BIGINT, distinct=True),
    call("max", S, S.type),
    call("count", Column(1, DOUBLE), BIGINT),
    call("sum", Column(1, DOUBLE), DOUBLE),
    call("avg", Column(1, DOUBLE), DOUBLE, distinct=True),
)


def over(keys: tuple[Column, ...], one: AggregateCall) -> AggregateCall:
    """A call over columns that are keys, as over the groups."""
    return replace(one, args=tuple(Column(keys.index(arg), arg.type) for arg in one.args))  # type: ignore[arg-type]


def fine(calls: tuple[AggregateCall, ...], carried: tuple[AggregateCall, ...]) -> AggregateNode:
    return replace(node(FINE, calls), carried=carried)


WANTED = (*CARRIED, *OVER_KEYS)
COARSE = (*(behind(one, 3) for one in CARRIED), *(over(FINE, one) for one in OVER_KEYS))


@pytest.mark.parametrize("wild", [False, True])
@pytest.mark.parametrize("keys", [FINE[:1], FINE[1:], (FINE[2], FINE[0])])
def test_coarser_groups_follow_event_time(keys: tuple[Column, ...], wild: bool) -> None:
    random = Random(len(keys) + wild)
    rows = world(random, FINE, wild, hashes=None)
    few = (call("count_all", None, BIGINT),)
    chain = (fine(few, CARRIED), coarser(FINE, keys, COARSE))
    records = check(rows, lambda: Chain(*chain), reference(keys, WANTED), random)
    assert sum(records.values()) > 40


@seeds(2)
def test_what_groups_tell_for_themselves_does_not_matter(seed: int) -> None:
    random, keys = Random(seed), FINE[:1]
    rows = world(random, FINE, seed % 2 == 1, hashes=3)
    chain = (fine(CALLS, CARRIED), coarser(FINE, keys, COARSE))
    assert check(rows, lambda: Chain(*chain), reference(keys, WANTED), random)
    assert check(rows, lambda: Chain(chain[0]), reference(FINE, CALLS), random)


def test_one_row_of_all_groups_is_there_from_the_beginning() -> None:
    random = Random(4)
    rows = world(random, FINE, False, hashes=None)
    rows.rows.append(Row(0, NEVER, FOREVER, 20, random_value(random, False), identity=1000))
    begin = tuple(aggregate(one, []) for one in WANTED)
    chain = (fine((), CARRIED), coarser(FINE, (), COARSE))
    check(rows, lambda: Chain(*chain), reference((), WANTED), random, begin)


@pytest.mark.parametrize("wild", [False, True])
def test_coarser_groups_tell_parts_to_still_coarser_ones(wild: bool) -> None:
    random, middle, keys = Random(5), (FINE[2], FINE[0]), FINE[:1]
    rows = world(random, FINE, wild, hashes=None)
    carried = (*(behind(one, 3) for one in CARRIED), over(FINE, call("sum", FINE[1], DOUBLE)))
    between = replace(coarser(FINE, middle, ()), carried=carried)
    calls = (*(behind(one, 2) for one in carried), over(middle, call("count", S, BIGINT, distinct=True)))
    chain = (fine((), CARRIED), between, coarser(middle, keys, calls))
    wanted = (*CARRIED, call("sum", FINE[1], DOUBLE), call("count", S, BIGINT, distinct=True))
    assert check(rows, lambda: Chain(*chain), reference(keys, wanted), random)


def test_users_aggregates_have_parts_too() -> None:
    class Spread(aggregates.UserAggregate):
        name = "spread_of_two"
        arguments = (BIGINT, DOUBLE)
        parts = {"low": ("min", None), "high": ("max", lambda a, b: b), "n": ("count", None)}  # noqa: RUF012
        result = DOUBLE

        def finish(self, low: Any, high: Any, n: Any) -> Any:
            return high - low + n

    aggregates.register(Spread)
    try:
        random, keys = Random(6), FINE[:1]
        rows = world(random, FINE, False, hashes=None)
        spread = AggregateCall("spread_of_two", (N, X), DOUBLE)
        chain = (fine((), (spread,)), coarser(FINE, keys, (behind(spread, 3),)))
        driven = [drive(rows, Chain(*chain), steps, random) for steps in (1, 9)]
        rows.key = lambda batch: [batch["c0"]]
        alone = drive(rows, AggregateOperator(node(keys, (spread,))), 1, random)
        assert records(driven[0]) == records(driven[1]) == records(alone)
        assert len(records(alone)) > 10
    finally:
        aggregates.unregister("spread_of_two")


def test_groups_that_have_run_begin_to_tell_parts() -> None:
    """Events from before lack what parts are made of; those who ask do not want these."""
    random, store = Random(7), MemoryStore()
    old = AggregateOperator(node(FINE, (call("count_all", None, BIGINT),)))
    new = AggregateOperator(fine((call("count_all", None, BIGINT),), (call("sum", N, BIGINT),)))
    rows = world(random, FINE, False, hashes=None).rows
    keyed = world(random, FINE, False, hashes=None)
    first, second = ([row for row in rows if row.early is None][i : i + 8] for i in (0, 8))
    assert not list(old.step([[_delta(keyed, first)]], Clock({"a": NEVER}, {"plain": 0}), store))
    waiting = list(new.step([[]], Clock({"a": 20}, {"plain": 20}), store))
    assert [
        part.make(everything)["_psum:::#2:0"].to_numpy().any()
        for part in waiting
        if isinstance(part, PartialAggregates)
    ] == [False]
    deltas = list(new.step([[_delta(keyed, second)]], Clock({"a": FOREVER}, {"plain": 99}, end=True), store))
    (parts,) = (part.make(everything) for part in deltas if isinstance(part, PartialAggregates))
    gone = sum(row.values[2] or 0 for row in second if row.end == FOREVER or row.end > 99)
    assert parts["_psum:::#2:0"].to_numpy().sum() == gone


@seeds(3)
def test_parts_are_made_of_the_groups_that_are_wanted(seed: int) -> None:
    random, store = Random(seed), MemoryStore()
    rows = world(random, FINE, seed % 2 == 1, hashes=None)
    operator = AggregateOperator(fine((), CARRIED))
    compared = 0
    for until in (15, 30, FOREVER):
        early_rows = [row for row in rows.rows if row.early is None and (row.start < until)]
        rows.rows = [row for row in rows.rows if row not in early_rows]
        clock = Clock({"a": until}, {"plain": until if until < FOREVER else 99}, end=until == FOREVER)
        for parts in operator.step([[_delta(rows, early_rows)]], clock, store):
            if isinstance(parts, PartialAggregates):
                whole = parts.make(everything).to_pylist()
                chosen = parts.make(lambda keys: pc.equal(keys["c0"], "x").fill_null(False).to_numpy(False))
                wanted = [row for row in whole if row["c0"] == "x"]
                assert repr(chosen.to_pylist()) == repr(wanted)
                assert parts.make(lambda keys: np.zeros(keys.num_rows, bool)).num_rows == 0
                compared += len(wanted)
    assert compared > 5


def _delta(world: World, rows: list[Row]) -> Delta:
    return Delta(batch_of(world, rows, False), None)


def records(deltas: list[Delta]) -> list[Any]:
    """What began, and what ended when, whatever the identities."""
    texts = [repr({**row, "_i0": 0}) for delta in deltas for row in delta.plus.to_pylist()]
    ends = [batch for delta in deltas if (batch := delta.minus) is not None]
    return sorted(texts + [repr({**row, "_i0": 0}) for batch in ends for row in batch.to_pylist()])
