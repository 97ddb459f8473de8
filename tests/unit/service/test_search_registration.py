"""Searches in a service: registered, restored after a restart, paused and resumed over another schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seine.errors import TakenError
from tests.support.service_rig import Rig

COLUMNS = "(k BIGINT, t STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 10"
SCHEMA = "".join(f"CREATE STREAM {name} {COLUMNS} FROM '{name}.jsonl';" for name in "ab")


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    for name in "abc":
        (tmp_path / f"{name}.jsonl").touch()
    rig = Rig(tmp_path)
    yield rig
    rig.service.close()


def feed(rig: Rig, stream: str, **row: Any) -> None:
    with (rig.folder / f"{stream}.jsonl").open("a") as file:
        file.write(json.dumps(row) + "\n")


def matches(rig: Rig, query: str) -> list[Any]:
    return [row["matches"] for row in rig.records(query)]


def plans(rig: Rig) -> dict[str, Any]:
    return {key: one.query.plan for key, one in rig.service.registrar.view.registered.items()}


def test_searches_are_restored_over_what_is_declared(rig: Rig) -> None:
    rig.register(SCHEMA + "CREATE JOIN a.k = b.k; CREATE QUERY q AS SEARCH 'x y' TOP 3 PER 5;")
    rig.register("CREATE QUERY p AS SEARCH '\"x z\"|w* t:y' OVER (a) MAX 2 TUPLES;")
    before = plans(rig)
    rig.crash()
    assert plans(rig) == before and [*before["q"].graph.tables] == ["a", "b"]


def test_a_search_that_is_resumed_is_over_the_schema_of_that_moment(rig: Rig) -> None:
    rig.register(SCHEMA + "CREATE QUERY q AS SEARCH 'x y';")
    rig.service.registrar.pause("q")
    rig.register(f"CREATE STREAM c {COLUMNS} FROM 'c.jsonl'; CREATE JOIN a.k = c.k;")
    rig.service.registrar.resume("q")
    feed(rig, "a", k=1, t="x", ts=1)
    feed(rig, "c", k=1, t="y", ts=1)
    rig.run()
    assert matches(rig, "q") == [[["x"], ["y"]]]


def test_a_stream_that_a_search_names_cannot_be_dropped(rig: Rig) -> None:
    rig.register(SCHEMA + "CREATE QUERY q AS SEARCH 'x y' OVER (a, b);")
    with pytest.raises(TakenError, match="used by query q"):
        rig.register("DROP STREAM b;")
    rig.service.registrar.drop("q")
    rig.register("DROP STREAM b;")
