"""`seine.testing`: rows in, records out."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from seine.errors import RunError, SeineError
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
    price = Decimal("12345678901234.56")
    assert result.rows("NAMED") == [{"name": "vase", "price": price, "day": "2026-01-01"}]
    assert not result.dead_letters and result.stats["input_rows"] == 2


def test_a_changelog_is_netted() -> None:
    for batch_rows in (None, 1):
        result = _run(batch_rows)
        assert result.rows("total") == [{"total": Decimal("12345678901235.56")}]
        assert [record["op"] for record in result.of("total")] == ["+", "-", "+", "-", "+"]


def test_lines_of_all_kinds_are_rows() -> None:
    script = """
    CREATE STREAM s (k BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (k) RETRACTABLE FROM 'nowhere';
    CREATE QUERY q WITH (unbounded = true) AS SELECT k FROM s;
    """
    lines = [{"k": 1, "ts": 1}, {"k": 2, "ts": 1}, {"@op": "-", "k": 1, "ts": 2}]
    lines += [{"@punctuate": {"k": 2}, "ts": 3}, {"k": 2, "ts": 4}]
    result = run_script(script, strict=False, s=lines)
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


MONEY = """
CREATE STREAM paid (k BIGINT, note STRING, v DECIMAL(20, 2), x DOUBLE, ts BIGINT) TIMESTAMP BY ts WINDOW 9
  FROM 'nowhere';
CREATE RELATION owed (k BIGINT, name STRING, v DECIMAL(20, 2)) FROM 'nowhere';
CREATE JOIN paid.k = owed.k;
CREATE QUERY sums AS SELECT SUM(v) AS s, collect_list(v) AS vs, MAX(x) AS x FROM paid;
CREATE QUERY lists AS SELECT collect_list(x) AS xs FROM paid;
CREATE QUERY pairs AS SELECT p.v, o.v AS whole FROM paid p, owed o WHERE p.k = o.k;
CREATE QUERY words AS SEARCH 'rent anna';
"""


def test_no_digit_of_a_decimal_is_lost_and_doubles_are_floats() -> None:
    """No double is equal to these: json.loads alone rounds them."""
    cents, whole = Decimal("123456789012345678.91"), Decimal("123456789012345679.00")
    paid = [{"k": 1, "note": "rent", "v": cents, "x": 0.1, "ts": 1}]
    result = run_script(MONEY, paid=paid, owed=[{"k": 1, "name": "Anna", "v": whole}])
    assert result.rows("sums") == [{"s": cents, "vs": [cents], "x": 0.1}]
    assert result.rows("pairs") == [{"v": cents, "whole": whole}]
    assert result.rows("lists") == [{"xs": [0.1]}]
    tuples = result.rows("words")[0]["tuples"]
    assert sorted(one["row"]["v"] for one in tuples) == [cents, whole]
    numbers = [result.rows("sums")[0]["x"], result.rows("lists")[0]["xs"][0]]
    numbers += [one["row"]["x"] for one in tuples if one["stream"] == "paid"]
    assert [type(number) for number in numbers] == [float, float, float]
    assert type(result.rows("pairs")[0]["whole"]) is Decimal


def test_dead_letters_raise_unless_asked_not_to() -> None:
    script = "CREATE STREAM s (k BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'nowhere';"
    script += "CREATE QUERY q AS SELECT k FROM s WHERE k > 5;"
    rows = [{"k": "six", "ts": 1}, {"k": 6, "ts": "late"}]
    with pytest.raises(RunError, match=r"2 dead letters or notices, the first because: .*k"):
        run_script(script, s=rows)
    result = run_script(script, strict=False, s=rows)
    assert result.rows("q") == [] and len(result.dead_letters) == 2


def test_a_text_that_makes_several_terms_is_told_once() -> None:
    script = "CREATE STREAM s (k STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 5 FROM 'nowhere';"
    script += "CREATE QUERY q AS SEARCH '½x' OVER (s); CREATE QUERY both AS SEARCH '½x hero' OVER (s);"
    result = run_script(script, s=[{"k": "hero ½x", "ts": 1}])
    assert [row["matches"] for row in result.rows("q")] == [[["½x"]]]
    assert [row["matches"] for row in result.rows("both")] == [[["½x", "hero"]]]


def test_a_text_that_is_no_number_is_the_null_that_null_safe_equality_finds() -> None:
    script = "CREATE STREAM s (k BIGINT, x DOUBLE, ts BIGINT) TIMESTAMP BY ts FROM 'nowhere';"
    script += "CREATE QUERY q AS SELECT k FROM s WHERE x <=> 'none';"
    rows = [{"k": 1, "x": None, "ts": 1}, {"k": 2, "x": 2.0, "ts": 2}]
    assert run_script(script, s=rows).rows("q") == [{"k": 1}]


def test_a_query_that_fails_raises_unless_asked_not_to() -> None:
    script = "CREATE STREAM s (k BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 5 FROM 'nowhere';"
    script += "CREATE QUERY fine AS SELECT MAX(k) AS k FROM s;"
    script += "CREATE QUERY big AS SELECT a.k FROM s a, s b WHERE a.k * b.k < 0;"
    rows = [{"k": k, "ts": 1} for k in range(8_000)]
    with pytest.raises(RunError, match=r"query big failed: .* candidates"):
        run_script(script, s=rows)
    result = run_script(script, strict=False, s=rows)
    assert list(result.failures) == ["big"] and result.rows("fine") == [{"k": 7_999}]


def test_numbers_that_are_not_finite_are_read() -> None:
    script = "CREATE STREAM s (k BIGINT, x DOUBLE, ts BIGINT) TIMESTAMP BY ts FROM 'nowhere';"
    script += "CREATE QUERY q AS SELECT x FROM s WHERE x > 5;"
    rows = [{"x": float("inf"), "ts": 1}, {"x": float("-inf"), "ts": 2}, {"x": float("nan"), "ts": 3}]
    assert run_script(script, s=rows).rows("q") == [{"x": "Infinity"}, {"x": "NaN"}]
    with pytest.raises(RunError, match="1 dead letters or notices"):
        run_script(script, s=[{"k": float("nan"), "ts": 1}])
