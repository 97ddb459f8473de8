"""The transfers of the benchmark of sharing: realistic, skewed, with planted chains."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from benchmarks.workloads.transfers import SPAN_DAYS, make_transfers


@pytest.fixture(scope="module")
def transfers() -> pa.Table:
    return make_transfers(60_000)


def test_transfers_are_the_same_for_the_same_seed() -> None:
    assert make_transfers(3_000, seed=2).equals(make_transfers(3_000, seed=2))
    assert not make_transfers(3_000, seed=2).equals(make_transfers(3_000, seed=3))


def test_transfers_are_skewed(transfers: pa.Table) -> None:
    assert transfers.num_rows == 60_000
    for column in ("sacct", "racct"):
        counts = np.sort(np.array(transfers[column].value_counts().field("counts")))[::-1]
        assert counts[: len(counts) // 10].sum() > 0.4 * counts.sum()
    amounts = np.array(transfers["amount"].cast(pa.float64()))
    assert 9_000 < np.median(amounts) < 15_000
    assert 0.005 < (amounts > 1e6).mean() < 0.02
    assert (amounts > 0).all()


def test_transfers_come_nearly_in_order_and_fill_the_span(transfers: pa.Table) -> None:
    times = np.array(transfers["ts"].cast(pa.int64()))
    behind = np.maximum.accumulate(times) - times
    assert 0 < behind.max() <= 60_000_000
    assert SPAN_DAYS - 2 < (times.max() - times.min()) / 86_400e6 <= SPAN_DAYS
    assert pc.all(pc.equal(transfers["ts"].cast(pa.date32()), transfers["tran_date"])).as_py()


def test_chains_are_planted(transfers: pa.Table) -> None:
    """More pairs of large transfers follow one another than chance would bring."""
    database = duckdb.connect()
    database.register("transfer", transfers)
    rows = database.execute(
        "SELECT COUNT(*) FROM transfer a JOIN transfer b ON b.sacct = a.racct WHERE a.amount > 900000 "
        "AND b.amount BETWEEN a.amount * 0.9 AND a.amount AND b.ts > a.ts AND b.ts < a.ts + INTERVAL 3 DAY"
    ).fetchone()
    assert rows is not None
    assert rows[0] >= 10  # one chain of each length has 1 + 2 + 3 + 4 steps


def test_too_few_transfers_are_refused() -> None:
    with pytest.raises(ValueError, match="planted alone"):
        make_transfers(50)
