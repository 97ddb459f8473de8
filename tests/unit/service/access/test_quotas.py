"""Quotas: counted for each owner, refused at registration, or paused with nothing of the batch delivered."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seine.cli.main import main
from seine.run_local import LocalHost
from seine.service.access.principal import ForbiddenError, Principal
from seine.service.access.quotas import Quota
from seine.service.folder import ServiceFolder
from seine.service.service import Service, ServiceOptions
from tests.support.everywhere import EVERYWHERE
from tests.support.service_rig import OTHER, STREAM, Rig

ANN, BOB = Principal("ann", "write"), Principal("bob", "write")
PLAIN = "CREATE QUERY {0} AS SELECT a FROM s WHERE a > {1};"
JOIN = "CREATE QUERY {0} AS SELECT x.a, y.a AS b FROM s x, t y WHERE x.a = y.a AND x.a > {1};"
GROUP = "CREATE QUERY {0} AS SELECT a, COUNT(*) AS n FROM s WHERE a > {1} GROUP BY a;"


class QuotaRig(Rig):
    """A service with a quota, and queries of two owners."""

    def __init__(self, folder: Path, quota: Quota) -> None:
        for name in ("s", "t"):
            (folder / f"{name}.jsonl").touch()
        self.quota = quota
        super().__init__(folder)
        if not self.service.registrar.view.declared.streams:
            self.register(STREAM + OTHER)

    def open(self) -> None:
        options = ServiceOptions(depth=2, reach=EVERYWHERE, quota=self.quota)
        self.service = Service(ServiceFolder(str(self.folder / "state")), options)
        self.host = LocalHost(self.service.deployment)

    def begin(self, who: Principal, *texts: str, replace: bool = False) -> None:
        self.service.changes.register(
            who, "".join(texts), file="x.sql", folder=str(self.folder), replace=replace
        )

    def states(self) -> dict[str, str]:
        return {answer["query"]: answer["state"] for answer in self.service.queries()}

    def values(self, query: str) -> list[int]:
        return sorted(row["a"] for row in self.records(query))


@pytest.fixture
def rigs(tmp_path: Path) -> Iterator[Any]:
    made: list[QuotaRig] = []

    def make(**quota: int) -> QuotaRig:
        made.append(QuotaRig(tmp_path, Quota(**quota)))
        return made[-1]

    yield make
    for rig in made:
        rig.service.close()


def test_queries_are_refused_with_the_number(rigs: Any) -> None:
    rig = rigs(queries=2)
    rig.begin(ANN, PLAIN.format("a1", 1), PLAIN.format("a2", 2))
    for text in (PLAIN.format("a3", 3), PLAIN.format("a3", 3) + PLAIN.format("a4", 3)):
        with pytest.raises(ForbiddenError, match=r"ann would have [34] queries, more than 2"):
            rig.begin(ANN, text)
    rig.begin(BOB, PLAIN.format("b1", 1))
    rig.begin(ANN, PLAIN.format("a2", 4), replace=True)
    rig.begin(ANN, "DROP QUERY a1;", PLAIN.format("a3", 3))
    assert set(rig.states()) == {"a2", "a3", "b1"}


def test_joins_are_counted_once_however_many_share_them(rigs: Any) -> None:
    rig = rigs(joins=1)
    rig.begin(ANN, JOIN.format("a1", 1), JOIN.format("a2", 2))
    other = "CREATE QUERY a3 AS SELECT x.a FROM s x, t y WHERE x.a = y.b;"
    with pytest.raises(ForbiddenError, match="ann would have 2 joins, more than 1"):
        rig.begin(ANN, other)
    before = rig.service.registrar.network.version
    rig.begin(BOB, other.replace("a3", "b1"))
    assert set(rig.states()) == {"a1", "a2", "b1"} and rig.service.registrar.network.version == before + 1
    rig.service.changes.pause(ANN, "a1")
    rig.service.changes.pause(ANN, "a2")
    rig.begin(ANN, other)
    with pytest.raises(ForbiddenError, match="2 joins"):
        rig.service.changes.resume(ANN, "a1")


def test_who_delivers_too_much_is_paused_and_not_heard(rigs: Any, capsys: pytest.CaptureFixture[str]) -> None:
    rig = rigs(records=4)
    rig.begin(ANN, PLAIN.format("all", 0), PLAIN.format("few", 8), PLAIN.format("third", 7))
    rig.begin(BOB, PLAIN.format("b", 6))
    rig.feed(1, 9)
    rig.run()
    assert set(rig.states().values()) == {"running"} and rig.values("all") == [1, 9]
    rig.feed(*range(1, 11))
    rig.run()
    assert rig.states() == {"all": "paused", "few": "running", "third": "paused", "b": "running"}
    assert rig.values("all") == [1, 9] and rig.values("third") == [9]
    assert rig.values("few") == [9, 9, 10] and rig.values("b") == [7, 8, 9, 9, 10]
    reason = "ann had 15 records in one micro-batch, more than 4 (entry "
    status = rig.service.status()
    assert status["over_quota"]["all"].startswith(reason)
    assert status["queries"] == {"running": 2, "paused": 2, "failed": 0}
    (answer,) = [one for one in rig.service.queries() if one["query"] == "all"]
    assert answer["failure"] is not None and answer["failure"]["kind"] == "quota"
    audit = [json.loads(line) for line in (rig.folder / "state" / "audit.jsonl").read_text().splitlines()]
    assert [(one["who"], one["query"]) for one in audit if one["action"] == "pause"] == [
        ("service", "all"),
        ("service", "third"),
    ]
    rig.crash()
    assert rig.states()["all"] == "paused" and rig.service.status()["over_quota"]["all"].startswith(reason)
    rig.service.changes.resume(ANN, "all")
    rig.feed(20)
    rig.run()
    assert rig.values("all") == [1, 9, 20] and rig.service.status()["over_quota"].keys() == {"third"}
    rig.service.close()
    assert main(["status", "--service", str(rig.folder / "state")]) == 0
    assert "third is paused: ann had" in capsys.readouterr().out
    rig.open()


def test_shared_state_counts_for_each_owner(rigs: Any) -> None:
    rig = rigs(state_rows=6)
    rig.begin(ANN, JOIN.format("a", 0), PLAIN.format("plain", 0))
    rig.begin(BOB, JOIN.format("b", 100))
    rig.feed(*range(5))
    rig.run()
    assert set(rig.states().values()) == {"running"}
    rig.feed(*range(10, 15))
    rig.run()
    assert rig.states() == {"a": "paused", "plain": "running", "b": "paused"}, (
        "the join is one, and each has it"
    )
    assert len(rig.values("plain")) == 9


def test_groups_are_state_and_the_heaviest_go_first(rigs: Any) -> None:
    rig = rigs(state_rows=4)
    rig.begin(ANN, GROUP.format("many", 0), "CREATE QUERY one AS SELECT COUNT(*) AS n FROM s;")
    rig.feed(1, 2, 3)
    rig.run()
    assert set(rig.states().values()) == {"running"}
    rig.feed(4, 5, 6, ts=2)
    rig.feed(1, ts=3)  # groups are counted when their instant is complete
    rig.run()
    assert rig.states() == {"many": "paused", "one": "running"}


def test_candidates_are_counted(rigs: Any) -> None:
    rig = rigs(candidates=20)
    rig.begin(ANN, JOIN.format("a", 0))
    rig.begin(BOB, PLAIN.format("b", 0))
    rig.feed(*[1] * 4)
    rig.feed(*[1] * 4, stream="t")
    rig.run()
    assert rig.states() == {"a": "running", "b": "running"} and len(rig.records("a")) == 16
    rig.feed(*[1] * 4, stream="t")
    rig.feed(*[1] * 4)
    rig.run()
    assert rig.states() == {"a": "paused", "b": "running"}
    assert len(rig.records("a")) == 16 and len(rig.records("b")) == 8


def test_a_crash_between_the_catalog_and_the_output_repeats_nothing(
    rigs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = rigs(records=2)
    rig.begin(ANN, PLAIN.format("a", 0))
    rig.begin(BOB, PLAIN.format("b", 3))
    rig.feed(1, 2)
    rig.run()
    rig.feed(3, 4, 5)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("seine.runtime.output.sink.Sink.commit", killed)
        with pytest.raises(KeyboardInterrupt):
            rig.run()
    rig.crash()
    rig.run()
    assert rig.states() == {"a": "paused", "b": "running"}
    assert rig.values("a") == [1, 2] and rig.values("b") == [4, 5]
