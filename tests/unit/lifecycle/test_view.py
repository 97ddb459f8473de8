"""Readers see the service as it was after a committed change, never in the middle of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from seine.errors import SeineError
from seine.network.network import Network
from seine.runtime.output.totals import Totals
from tests.support.http_rig import HttpRig

STREAM = "CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 10 FROM 's.jsonl';"
JOIN = "CREATE QUERY q AS SELECT x.a FROM s x, s y WHERE x.a = y.a;"


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[HttpRig]:
    rig = HttpRig(tmp_path, depth=2)
    rig.register(STREAM + JOIN)
    rig.feed(1, 2)
    yield rig
    rig.close()


def read_all(rig: HttpRig) -> dict[str, Any]:
    """What a reader can learn over HTTP; the pace depends on the clock."""
    status = rig.ask("GET", "/v1/status")
    assert status[0] == 200 and status[1].pop("rows_per_second") >= 0
    others = [rig.ask("GET", path) for path in ("/v1/queries", "/v1/queries/q", "/v1/queries/q/related")]
    assert [answer[0] for answer in others] == [200, 200, 200]
    return {"status": status[1], "others": [answer[1] for answer in others]}


def in_the_middle_of(patch: pytest.MonkeyPatch, owner: type, method: str, act: Callable[[], None]) -> None:
    """Let `act` happen right after each call of a method."""
    original = getattr(owner, method)

    def wrapped(*args: Any, **options: Any) -> Any:
        result = original(*args, **options)
        act()
        return result

    patch.setattr(owner, method, wrapped)


@pytest.mark.parametrize("method", ["remove", "add", "take_change"])
def test_a_change_that_is_undone_is_never_seen(
    rig: HttpRig, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """A reader comes after the network was changed in place, and before the change is refused."""
    before, seen = read_all(rig), []

    def refuse(*_: object) -> None:
        raise SeineError("disk full")

    with monkeypatch.context() as patch:
        in_the_middle_of(patch, Network, method, lambda: seen.append(read_all(rig)))
        patch.setattr("seine.service.catalog_record.enter", refuse)
        with pytest.raises(SeineError, match="disk full"):
            rig.register("DROP QUERY q; CREATE QUERY p AS SELECT a FROM s;")
    assert seen == [before] and before["others"][1]["state_rows"]
    assert read_all(rig) == before


def test_a_change_is_seen_whole(rig: HttpRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until it is committed, a reader sees the old version with all that belongs to it; then the new one."""
    before, seen = read_all(rig), []
    with monkeypatch.context() as patch:
        in_the_middle_of(patch, Network, "take_change", lambda: seen.append(read_all(rig)))
        rig.register("CREATE QUERY p AS SELECT x.a FROM s x, s y WHERE x.a = y.a AND x.a > 1;")
    after = read_all(rig)
    assert seen == [before] and after["status"]["version"] == before["status"]["version"] + 1
    assert [query["query"] for query in after["others"][0]] == ["q", "p"]
    assert after["others"][0][1]["state_rows"] == before["others"][0][0]["state_rows"]


def test_a_micro_batch_is_seen_whole(rig: HttpRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader comes after rows were counted, and before the micro-batch is delivered."""
    before, seen = read_all(rig), []
    written = before["status"].pop("written")  # the entry is admitted before it is delivered
    with monkeypatch.context() as patch:
        in_the_middle_of(patch, Totals, "count_state", lambda: seen.append(read_all(rig)))
        rig.feed(2, 3)
    assert [one["status"].pop("written") for one in seen] == [written + 1]
    assert before["status"].pop("waiting") == 0 and [one["status"].pop("waiting") for one in seen] == [1]
    assert seen == [before]
    after = read_all(rig)
    assert after["status"]["input_rows"] == 4 and after["others"][1]["outputs"] > 0
