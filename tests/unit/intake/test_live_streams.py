"""Streams join and leave while intake runs, between two entries and all of a change at once."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from seine.algebra.definitions import Scheme, Source, StreamDef
from seine.algebra.types import BIGINT, Field
from seine.errors import SeineError
from seine.intake.fed_pipeline import FixedNetwork, NetworkMoment
from seine.intake.intake import Intake
from seine.intake.journal import Entry, Journal
from seine.rows.delta import NEVER
from seine.storage.local import LocalStore

FIELDS = (Field("a", BIGINT), Field("ts", BIGINT))


def stream(folder: Path, name: str, *lines: str) -> StreamDef:
    path = folder / f"{name}.jsonl"
    path.write_text("".join(line + "\n" for line in lines))
    return StreamDef(name, FIELDS, 1, Source(str(path)), schemes=(Scheme((0,)),))


def line(value: int, ts: int) -> str:
    return f'{{"a": {value}, "ts": {ts}}}'


def values(entry: Entry | None, name: str) -> list[int]:
    assert entry is not None
    batch = entry.batch(name)
    return batch.column("c0").to_pylist() if batch is not None else []


def test_without_streams_it_waits_for_some(tmp_path: Path) -> None:
    intake = Intake([], Journal(LocalStore(str(tmp_path / "j"))), follow=True)
    assert intake.next_entry() is None
    intake.change([intake.open(stream(tmp_path, "s", line(1, 1)))], [])
    assert values(intake.next_entry(), "s") == [1]
    assert intake.next_entry() is None


def test_a_stream_leaves_and_its_lines_with_it(tmp_path: Path) -> None:
    s, t = stream(tmp_path, "s", line(1, 1)), stream(tmp_path, "t", line(2, 1))
    intake = Intake([s, t], Journal(LocalStore(str(tmp_path / "j"))), follow=True)
    intake.change([], ["t"])
    entry = intake.next_entry()
    assert values(entry, "s") == [1] and values(entry, "t") == []
    assert entry is not None and set(entry.clock.watermarks) == set(entry.intake.streams) == {"s"}


def test_a_change_while_an_entry_is_read_is_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines are read and admitted, then the streams change, then the entry is cut."""
    s, t = stream(tmp_path, "s", line(1, 1)), stream(tmp_path, "t", line(2, 1))
    turn, version = threading.RLock(), [1]

    class Changing(FixedNetwork):
        def moment(self) -> NetworkMoment:
            return NetworkMoment(version[0])

    intake = Intake([s, t], Journal(LocalStore(str(tmp_path / "j"))), Changing(turn=turn), follow=True)
    u = stream(tmp_path, "u", line(3, 1))
    advance = intake._advance

    def change_after(*given: Any) -> object:
        admitted = advance(*given)
        with turn:
            version[0] = 2
            intake.change([intake.open(u)], ["t"])
        return admitted

    monkeypatch.setattr(intake, "_advance", change_after)
    entry = intake.next_entry()
    assert entry is not None and entry.network == 2
    assert values(entry, "s") == [1] and values(entry, "t") == []
    assert entry.clock.watermarks == {"s": 1, "u": NEVER}
    monkeypatch.undo()
    assert values(intake.next_entry(), "u") == [3]


def test_a_stream_that_comes_again_starts_anew(tmp_path: Path) -> None:
    punctuation = '{"@punctuate": {"a": 9}, "ts": 1}'
    s = stream(tmp_path, "s", line(9, 1), punctuation)
    journal = Journal(LocalStore(str(tmp_path / "j")))
    intake = Intake([s], journal, follow=True)
    first = intake.next_entry()
    again = stream(tmp_path, "s", line(9, 1), punctuation, line(9, 2))
    intake.change([intake.open(again)], ["s"])
    entry = intake.next_entry()
    assert values(entry, "s") == [9], "punctuations of the stream before it do not bind it, new ones do"
    assert first is not None and entry is not None and entry.dead == 1
    assert entry.runs and not set(first.runs) & set(entry.runs), "a name is never used twice"
    intake.close()
    resumed = Intake([again], journal, follow=True)
    assert resumed.next_entry() is None
    fresh = Intake([again], journal, follow=True, fresh=frozenset(["s"]))
    assert values(fresh.next_entry(), "s") == [9]


def test_a_stream_that_was_opened_long_ago_uses_no_name_of_a_run_twice(tmp_path: Path) -> None:
    """Sources are opened before their change has its turn: the stream of that name goes on meanwhile."""
    s = stream(tmp_path, "s", '{"@punctuate": {"a": 1}, "ts": 1}')
    intake = Intake([s], Journal(LocalStore(str(tmp_path / "j"))), follow=True)
    intake.next_entry()
    opened = intake.open(stream(tmp_path, "s", '{"@punctuate": {"a": 2}, "ts": 1}'))
    with (tmp_path / "s.jsonl").open("a") as file:
        file.write('{"@punctuate": {"a": 3}, "ts": 1}\n')
    between = intake.next_entry()
    intake.change([opened], ["s"])
    entry = intake.next_entry()
    assert between is not None and entry is not None and between.runs and entry.runs
    assert not {*between.runs} & {*entry.runs}


def test_what_is_dropped_before_it_joined_never_joins(tmp_path: Path) -> None:
    intake = Intake([], Journal(LocalStore(str(tmp_path / "j"))), follow=True)
    intake.change([intake.open(stream(tmp_path, "s", line(1, 1)))], [])
    intake.change([intake.open(stream(tmp_path, "s", line(2, 1)))], ["s"])
    assert values(intake.next_entry(), "s") == [2]
    with pytest.raises(SeineError, match="cannot read"):
        intake.open(StreamDef("t", FIELDS, 1, Source(str(tmp_path / "no" / "t.jsonl"))))


def test_an_entry_that_hands_over_has_no_rows(tmp_path: Path) -> None:
    intake = Intake(
        [stream(tmp_path, "s", line(1, 1))], Journal(LocalStore(str(tmp_path / "j"))), follow=True
    )
    entry = intake.hand_over(5)
    assert (entry.number, entry.handover, entry.rows) == (0, 5, {})
    after = intake.next_entry()
    assert values(after, "s") == [1] and after is not None and (after.number, after.handover) == (1, 0)
