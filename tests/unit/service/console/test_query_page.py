"""Pages of queries are pieces of the list that was asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from seine.service.console.query_page import QueryChoice, query_page
from tests.support.service_rig import Rig, rig_of_two_streams


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    yield from rig_of_two_streams(tmp_path)


def names(rig: Rig, choice: QueryChoice, offset: int = 0, most: int = 100) -> list[str]:
    return [line["query"] for line in query_page(rig.service.published, choice, offset, most)["queries"]]


def test_pages_are_pieces_of_one_order(rig: Rig) -> None:
    rig.register(
        "CREATE QUERY b AS SELECT a FROM s WHERE a > 1; CREATE QUERY c AS SELECT b FROM t;"
        "CREATE QUERY a AS SELECT s.a FROM s, t WHERE s.a = t.a; CREATE QUERY Bid AS SELECT a FROM s;"
    )
    rig.service.registrar.pause("c")
    rig.feed(1, 2, 3)
    rig.feed(2, stream="t")
    rig.run()
    assert names(rig, QueryChoice()) == ["b", "c", "a", "Bid"]
    assert names(rig, QueryChoice(order="newest")) == ["Bid", "a", "c", "b"]
    assert names(rig, QueryChoice(order="name")) == ["a", "b", "Bid", "c"]
    assert names(rig, QueryChoice(order="outputs")) == ["Bid", "b", "a", "c"]
    assert names(rig, QueryChoice(order="held"))[0] == "a"
    assert names(rig, QueryChoice(state="paused")) == ["c"]
    assert names(rig, QueryChoice(text="B")) == ["b", "c", "Bid"]  # of c in its text
    assert names(rig, QueryChoice(), offset=1, most=2) == ["c", "a"]
    page = query_page(rig.service.published, QueryChoice(text="bid"), 0, 10)
    assert (page["total"], page["matching"]) == (4, 1)
    assert page["queries"][0]["outputs"] == 3
