"""Owners: who is no admin changes its own queries, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seine.service.access.principal import LOCAL, ForbiddenError, Principal
from tests.support.service_rig import Rig, rig_of_two_streams

ANN, BOB, EVE = Principal("ann", "write"), Principal("bob", "write"), Principal("eve", "read")
ROOT = Principal("root", "admin")
QUERY = "CREATE QUERY {0} AS SELECT a FROM s WHERE a > {1};"


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    yield from rig_of_two_streams(tmp_path)


def _register(rig: Rig, who: Principal, text: str, replace: bool = False) -> Any:
    changes = rig.service.changes
    return changes.register(who, text, file="x.sql", folder=str(rig.folder), replace=replace)


def _owners(rig: Rig) -> dict[str, str | None]:
    return {answer["query"]: answer["owner"] for answer in rig.service.queries()}


def test_a_query_has_an_owner_who_alone_changes_it(rig: Rig) -> None:
    _register(rig, ANN, QUERY.format("q", 1))
    changes, before = rig.service.changes, rig.service.published.view
    for forbidden in (
        lambda: changes.drop(BOB, "Q"),
        lambda: changes.pause(BOB, "q"),
        lambda: _register(rig, BOB, QUERY.format("q", 2), replace=True),
        lambda: _register(rig, BOB, "DROP QUERY q;"),
        lambda: _register(rig, BOB, QUERY.format("p", 1) + "DROP QUERY q;"),
        lambda: changes.drop(EVE, "q"),
        lambda: _register(rig, EVE, QUERY.format("p", 1)),
    ):
        with pytest.raises(ForbiddenError):
            forbidden()
    assert rig.service.published.view is before
    changes.pause(ANN, "q")
    with pytest.raises(ForbiddenError, match="query q belongs to ann, not to bob"):
        changes.resume(BOB, "q")
    changes.resume(ANN, "q")
    _register(rig, ANN, QUERY.format("q", 3), replace=True)
    changes.drop(ANN, "q")
    assert _owners(rig) == {}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("CREATE STREAM u (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM '/etc/passwd';", "stream u"),
        ("DROP STREAM t;", "stream t"),
        ("CREATE RELATION r (a BIGINT) FROM '/etc/passwd';", "relation r"),
        ("CREATE RELATION r (a BIGINT) FROM 'postgresql://nowhere/x' WITH (table = 'y');", "relation r"),
        ("CREATE JOIN s.a = t.a;", "join s, t"),
        ("CREATE VIEW v AS SELECT a FROM s;", "view v"),
        ("CREATE SINK k FROM q INTO 'out';", "sink k"),
    ],
)
def test_what_everybody_shares_needs_an_admin(rig: Rig, text: str, what: str) -> None:
    """Refused before the source is looked at: a writer does not learn which files there are."""
    _register(rig, ANN, QUERY.format("q", 1))
    before = rig.service.published.view
    with pytest.raises(ForbiddenError, match=f"ann may not change {what}"):
        _register(rig, ANN, text)
    assert rig.service.published.view is before


def test_an_admin_changes_everything_and_owners_stay(rig: Rig) -> None:
    _register(rig, ANN, QUERY.format("q", 1) + QUERY.format("p", 1))
    _register(rig, ROOT, QUERY.format("q", 2), replace=True)
    rig.service.changes.pause(ROOT, "p")
    rig.service.changes.resume(ROOT, "p")
    _register(rig, ROOT, QUERY.format("r", 2))
    rig.register(QUERY.format("l", 2))
    owners = {"p": "ann", "q": "ann", "r": "root", "l": LOCAL.name}
    assert _owners(rig) == owners
    rig.crash()
    assert _owners(rig) == owners
    rig.service.changes.drop(ROOT, "p")
    assert "p" not in _owners(rig)


def test_changes_are_in_the_audit_log(rig: Rig) -> None:
    _register(rig, ANN, QUERY.format("q", 1))
    _register(rig, ROOT, "CREATE VIEW v AS SELECT a FROM s;")
    with pytest.raises(ForbiddenError):
        rig.service.changes.drop(BOB, "q")
    rig.service.changes.drop(ANN, "q")
    lines = [json.loads(line) for line in (rig.folder / "state" / "audit.jsonl").read_text().splitlines()]
    noted = [(line["who"], line["action"], line["outcome"]) for line in lines]
    assert noted == [
        ("ann", "register", "done"),
        ("root", "register", "done"),
        ("bob", "drop", "refused"),
        ("ann", "drop", "done"),
    ]
    assert lines[0]["registered"] == ["q"] and lines[1]["declared"] == ["view v"]
    assert lines[2]["reason"] == "query q belongs to ann, not to bob" and lines[3]["dropped"] == ["q"]
    assert "SELECT" not in json.dumps(lines)
