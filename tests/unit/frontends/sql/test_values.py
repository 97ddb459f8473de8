"""Arrays, structs and JSON within expressions: conditions, outputs, groups, sub-queries."""

from __future__ import annotations

import pytest

from seine.errors import SeineError
from seine.testing import run_script
from tests.support.front_end import sql_refusal

STREAM = "CREATE STREAM s (tags STRING, j STRING, n BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 100 FROM 'x';"
ROWS = [
    {"tags": "a,b", "j": '{"u": {"id": 7, "t": ["x", 1]}}', "n": 1, "ts": 1},
    {"tags": "b", "j": '{"u": {"id": "7"}}', "n": 2, "ts": 2},
    {"tags": "a,b", "j": "nonsense", "n": 3, "ts": 3},
    {"tags": None, "j": None, "n": 4, "ts": 4},
]
_STREAM = "CREATE STREAM s (c STRING, i BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 's';"
_TEXTS = ["a.b..c", "a", "", ".", "x.y", None]
_PLACES = [-1, 0, 1, 3, 9, None]


def rows_of(select: str) -> list[dict[str, object]]:
    return run_script(f"{STREAM} CREATE QUERY q AS {select};", s=ROWS).rows("q")


def test_arrays_in_conditions_outputs_and_groups() -> None:
    by_tag = rows_of("SELECT n FROM s WHERE array_contains(split(tags, ','), 'a')")
    assert by_tag == [{"n": 1}, {"n": 3}]
    assert rows_of("SELECT split(tags, ',') AS t FROM s WHERE n < 3") == [{"t": ["a", "b"]}, {"t": ["b"]}]
    groups = rows_of("SELECT split(tags, ',') AS t, COUNT(*) AS c FROM s GROUP BY split(tags, ',')")
    assert {(str(row["t"]), row["c"]) for row in groups} == {("None", 1), ("['a', 'b']", 2), ("['b']", 1)}
    nested = "SELECT n, size(t) AS z FROM (SELECT n, split(tags, ',') AS t FROM s) WHERE size(t) > 1"
    assert rows_of(nested) == [{"n": 1, "z": 2}, {"n": 3, "z": 2}]
    assert rows_of("SELECT size(collect_list(n)) AS z FROM s") == [{"z": 4}]


def test_distinct_ranks_and_unions_take_arrays_as_records_have_them() -> None:
    assert len(rows_of("SELECT DISTINCT split(tags, ',') AS t FROM s")) == 3
    union = "SELECT split(tags, ',') AS t FROM s UNION ALL SELECT split(tags, ',') AS t FROM s WHERE n = 2"
    assert rows_of(union).count({"t": ["b"]}) == 2
    first = "SELECT n FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY split(tags, ',') ORDER BY ts DESC) = 1"
    assert sorted(row["n"] for row in rows_of(first)) == [2, 3, 4]


def test_paths_and_structs() -> None:
    [first, *others] = rows_of("SELECT from_json(j, 'u STRUCT<id: INT, t: ARRAY<STRING>>').u.id AS id FROM s")
    assert first == {"id": 7}
    assert others == [{"id": None}] * 3
    items = rows_of("SELECT from_json(j, 'u STRUCT<t: ARRAY<STRING>>').u.t[1] AS v FROM s WHERE n = 1")
    assert items == [{"v": "1"}]
    made = rows_of(
        "SELECT to_json(named_struct('n', n, 'in', struct(ts), 'no', tags)) AS v FROM s WHERE n = 4"
    )
    assert made == [{"v": '{"n":4,"in":{"ts":4}}'}]


@pytest.mark.parametrize(
    ("select", "message"),
    [
        ("SELECT from_json(j, 'u INT') AS v FROM s", "from_json gives a struct"),
        ("SELECT from_json(j, 'u INT').w AS v FROM s", "no field w"),
        ("SELECT from_json(j, 'u !').u AS v FROM s", "no schema"),
        ("SELECT j ->> 'it''s' AS v FROM s", "takes a constant key"),
        ("SELECT to_json(n) AS v FROM s", "to_json takes a struct or an array"),
        ("SELECT to_json(named_struct(n, 1)) AS v FROM s", "names, which are constants"),
        ("SELECT MAX(split(tags, ',')) AS v FROM s", "an aggregate takes no array"),
        ("SELECT n FROM s WHERE split(tags, ',') = split(tags, ';')", "arrays have no order"),
        ("SELECT n FROM s ORDER BY split(tags, ',') LIMIT 1", "arrays have no order"),
        ("SELECT CAST(split(tags, ',') AS STRING) AS v FROM s", "cannot cast"),
        ("SELECT array(n) AS v FROM s", "array holds texts"),
        ("SELECT explode(split(tags, ',')) AS v FROM s", "one value for a row"),
        ("SELECT transform(n, n) AS v FROM s", "no functions as arguments"),
        ("SELECT format_string('%d', tags) AS v FROM s", "whole number"),
        ("SELECT format_string('%d') AS v FROM s", "has no argument"),
        ("SELECT to_char(n, 'abc') AS v FROM s", "no pattern"),
        ("SELECT uuid() AS v FROM s", "the input alone"),
        ("SELECT listagg(tags) WITHIN GROUP (ORDER BY n) AS v FROM s", "WITHIN GROUP belongs to"),
        ("SELECT percentile_cont(0.5) AS v FROM s", "needs WITHIN GROUP"),
    ],
)
def test_refusals(select: str, message: str) -> None:
    with pytest.raises(SeineError) as refusal:
        rows_of(select)
    assert message in str(refusal.value)
    assert refusal.value.hint or "struct" in message


def _item(text: str | None, place: int | None) -> str | None:
    if text is None or place is None or place < 0:
        return None
    items = text.split(".")
    return items[place] if place < len(items) else None


@pytest.mark.parametrize("item", ["split_index(c, '.', i)", "split(c, '[.]')[i]", "parts[i]"])
def test_places_of_columns(item: str) -> None:
    rows = [{"c": text, "i": place, "ts": 1} for text in _TEXTS for place in _PLACES]
    query = f"SELECT c, i, {item} AS v FROM (SELECT c, i, split(c, '[.]') AS parts FROM s) t"
    answer = run_script(f"{_STREAM} CREATE QUERY q AS {query};", s=rows).rows("q")
    assert len(answer) == len(rows) and any(row["v"] for row in answer)
    assert [row["v"] for row in answer] == [_item(row["c"], row["i"]) for row in answer]


@pytest.mark.parametrize("place", [-1, 0, 2, 3])
def test_places_that_are_constant(place: int) -> None:
    rows = [{"c": "a.b..c", "ts": 1}]
    query = f"SELECT split_index(c, '.', {place}) AS v, split(c, '[.]')[{place}] AS w FROM s"
    item = _item("a.b..c", place)
    assert run_script(f"{_STREAM} CREATE QUERY q AS {query};", s=rows).rows("q") == [{"v": item, "w": item}]


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("c[0]", "[...] takes an item of an array, not of STRING"),
        ("split_index(c, c, 0)", "split_index takes a text, a constant delimiter and a place"),
        ("split_index(c, '', 0)", "split_index takes a text, a constant delimiter and a place"),
    ],
)
def test_what_is_no_array_is_refused(item: str, message: str) -> None:
    assert sql_refusal(f"SELECT {item} FROM s")[2] == message
