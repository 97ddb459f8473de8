"""Equal rows by hash, with very many collisions."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest

from seine.operators.grouping import dense_ranks, group_rows


@pytest.mark.parametrize("hashes", [1, 3, 40])
@pytest.mark.parametrize("seed", range(5))
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
