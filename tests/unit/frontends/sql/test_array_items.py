"""Items of arrays are those that Python finds by splitting the text itself."""

from __future__ import annotations

import pytest

from seine.testing import run_script
from tests.support.front_end import sql_refusal

_STREAM = "CREATE STREAM s (c STRING, i BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 's';"
_TEXTS = ["a.b..c", "a", "", ".", "x.y", None]
_PLACES = [-1, 0, 1, 3, 9, None]


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
