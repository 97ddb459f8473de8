"""`seine.testing`: rows in, records out."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from seine.errors import SeineError
from seine.testing import run_script

BIDS = """
CREATE STREAM bid (item BIGINT, price DECIMAL(18, 2), day DATE, at TIMESTAMP) TIMESTAMP BY at
  FROM 'nowhere.jsonl';
CREATE RELATION item (item BIGINT, name STRING) FROM 'nowhere.jsonl';
CREATE QUERY named AS SELECT i.name, b.price, b.day FROM bid b, item i WHERE b.item = i.item;
CREATE QUERY total AS SELECT SUM(price) AS total FROM bid;
"""


def _bid(item: int, price: str, second: int) -> dict[str, object]:
    at = datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC)
    return {"item": item, "price": Decimal(price), "day": date(2026, 1, 1), "at": at}


def _run(batch_rows: int | None = None):
    bids = [_bid(1, "12345678901234.56", 1), _bid(2, "1.00", 2)]
    return run_script(BIDS, batch_rows=batch_rows, bid=bids, Item=[{"item": 1, "name": "vase"}])


def test_rows_of_streams_and_relations_are_given() -> None:
    result = _run()
    assert result.rows("NAMED") == [{"name": "vase", "price": 12345678901234.56, "day": "2026-01-01"}]
    assert not result.dead_letters and result.stats["input_rows"] == 2


def test_a_changelog_is_netted() -> None:
    for batch_rows in (None, 1):
        result = _run(batch_rows)
        assert result.rows("total") == [{"total": 12345678901235.56}]
        assert [record["op"] for record in result.of("total")] == ["+", "-", "+", "-", "+"]


def test_lines_of_all_kinds_are_rows() -> None:
    script = """
    CREATE STREAM s (k BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (k) RETRACTABLE FROM 'nowhere';
    CREATE QUERY q WITH (unbounded = true) AS SELECT k FROM s;
    """
    lines = [{"k": 1, "ts": 1}, {"k": 2, "ts": 1}, {"@op": "-", "k": 1, "ts": 2}]
    lines += [{"@punctuate": {"k": 2}, "ts": 3}, {"k": 2, "ts": 4}]
    result = run_script(script, s=lines)
    assert result.rows("q") == [{"k": 2}]
    assert len(result.dead_letters) == 1


def test_what_is_not_given_is_read_as_declared(tmp_path) -> None:
    (tmp_path / "s.jsonl").write_text('{"k": 7, "ts": 1}\n')
    script = "CREATE STREAM s (k BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';"
    script += "CREATE QUERY q AS SELECT k FROM s;"
    assert run_script(script, folder=str(tmp_path)).rows("q") == [{"k": 7}]


def test_unknown_names_are_refused() -> None:
    with pytest.raises(SeineError, match="no stream or relation bids"):
        run_script(BIDS, bids=[])
    with pytest.raises(SeineError, match="no query totals"):
        _run().rows("totals")
