"""What a service remembers of the rows that came last: so many, so long, of the stream as it stands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from seine.service import recent_rows
from tests.support.service_rig import STREAM, Rig


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    (tmp_path / "s.jsonl").touch()
    rig = Rig(tmp_path)
    rig.register(STREAM + "CREATE QUERY q AS SELECT a FROM s;")
    yield rig
    rig.service.close()


def _values(rig: Rig) -> list[int]:
    stream = rig.service.registrar.view.declared.streams["s"]
    return [value for piece in rig.service.recent_rows.of(stream) for value in piece.column("c0").to_pylist()]


def _arrive(rig: Rig, *values: int) -> None:
    rig.feed(*values)
    rig.run()


def test_rows_are_there_in_the_order_in_which_they_came(rig: Rig) -> None:
    assert _values(rig) == []
    _arrive(rig, 1, 2)
    _arrive(rig, 3)
    assert _values(rig) == [1, 2, 3]


def test_old_rows_go_when_there_are_too_many(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent_rows, "MOST_ROWS", 3)
    _arrive(rig, 1, 2)
    _arrive(rig, 3)
    assert _values(rig) == [1, 2, 3]
    _arrive(rig, 4)
    assert _values(rig) == [3, 4]  # pieces go whole
    _arrive(rig, *range(10, 20))
    assert _values(rig) == [17, 18, 19]


def test_wide_rows_are_fewer(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent_rows, "MOST_BYTES", 100)
    _arrive(rig, *range(1000))
    kept = _values(rig)
    assert kept == list(range(1000))[-len(kept) :] and 0 < len(kept) < 10


def test_rows_of_long_ago_go(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    _arrive(rig, 1)
    monkeypatch.setattr(recent_rows, "RECENT_SECONDS", -1.0)
    assert _values(rig) == []


def test_a_stream_that_is_declared_anew_begins_anew(rig: Rig) -> None:
    _arrive(rig, 1)
    rig.register("DROP QUERY q; DROP STREAM s;")
    (rig.folder / "s.jsonl").write_text("")
    rig.register(STREAM.replace("WINDOW 10", "WINDOW 20") + "CREATE QUERY q AS SELECT a FROM s;")
    assert _values(rig) == []
    _arrive(rig, 7)
    assert _values(rig) == [7]
