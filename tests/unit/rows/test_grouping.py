"""Equal rows by hash, with very many collisions."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest

from seine.rows.grouping import dense_ranks, group_rows
from tests.support.seeds import seeds


@pytest.mark.parametrize("hashes", [1, 3, 40])
@seeds(5)
def test_groups_are_the_equal_rows_in_their_order(seed: int, hashes: int) -> None:
    random = Random(seed)
    rows = [(random.choice(["a", "b", None]), random.choice([1.0, float("nan"), None])) for _ in range(200)]
    code = {"a": 0, "b": 1, None: 2}
    hashed = [(3 * code[text] + (0 if x is None else 1 if x == x else 2)) * 7 % hashes for text, x in rows]
    columns = [pa.array([row[0] for row in rows]), pa.array([row[1] for row in rows], pa.float64())]
    order, starts = group_rows(np.array(hashed), columns)
    groups = [chunk.tolist() for chunk in np.split(order, starts[1:])]
    wanted: dict[tuple[str, str], list[int]] = {}
    for i, (text, x) in enumerate(rows):
        wanted.setdefault((repr(text), repr(x)), []).append(i)
    assert sorted(groups) == sorted(wanted.values())
    assert [hashed[i] for i in order] == sorted(hashed)


def test_ranks_put_nan_last_and_null_beyond() -> None:
    ranks, places = dense_ranks(pa.array([2.0, None, float("nan"), -1.0, 2.0]))
    assert ranks.tolist() == [1, 3, 2, 0, 1]
    assert ranks[places].tolist() == [0, 1, 2, 3]


def test_nothing_has_no_groups() -> None:
    order, starts = group_rows(np.zeros(0, np.int64), [pa.array([], pa.string())])
    assert len(order) == len(starts) == 0


@pytest.mark.parametrize("leads", [3, 2000, 2**32])
def test_many_hashes_are_in_their_stable_order(leads: int) -> None:
    numbers = np.random.default_rng(leads)
    size = 40_000
    high = numbers.integers(-(leads // 2), leads - leads // 2, size) << 32
    high[:100] = high[100:200]  # equal leading bits, with other bits behind them
    hashes = high | numbers.integers(0, 2**32, size)
    hashes[-5000:] = hashes[:5000]
    order, starts = group_rows(hashes, [pa.array(hashes)])
    assert order.tolist() == np.argsort(hashes, kind="stable").tolist()
    assert hashes[order][starts].tolist() == sorted(set(hashes.tolist()))


@pytest.mark.parametrize("span", [5, 2**62])
def test_rows_of_a_group_are_put_in_order_of_time(span: int) -> None:
    random = Random(span)
    hashes = np.array([random.randrange(40) for _ in range(500)])
    times = np.array([random.randrange(-span, span) for _ in range(500)])
    groups = group_rows(hashes, [])
    ordered = groups.sorted_by(times)
    assert ordered.starts.tolist() == groups.starts.tolist()
    assert ordered.order.tolist() == sorted(range(500), key=lambda i: (hashes[i], times[i]))
