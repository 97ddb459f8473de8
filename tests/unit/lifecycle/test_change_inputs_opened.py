"""Sources are opened while nobody waits: one that does not answer keeps its own change waiting alone."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from seine.algebra.definitions import StreamDef
from seine.errors import SeineError
from seine.intake.feed import Feed
from tests.support.service_rig import STREAM, Rig

OTHER = STREAM.replace("STREAM s", "STREAM t").replace("s.jsonl", "t.jsonl")
COUNT = "CREATE QUERY {0} AS SELECT a FROM {1};"


class SlowOpening:
    """Lets the opening of streams wait until `go`; counts openings and those that were closed again."""

    def __init__(self, rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
        self.began, self.go = threading.Event(), threading.Event()
        self.opened, self.closed = 0, 0
        intake = rig.service.intake
        kept = intake.open

        def open_slowly(stream: StreamDef, refuse: bool = True) -> Feed:
            self.began.set()
            assert self.go.wait(60)
            feed = kept(stream, refuse)
            self.opened += 1
            close = feed.close

            def note_close() -> None:
                self.closed += 1
                close()

            monkeypatch.setattr(feed, "close", note_close)
            return feed

        monkeypatch.setattr(intake, "open", open_slowly)


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    rig = Rig(tmp_path)
    for name in "st":
        (tmp_path / f"{name}.jsonl").touch()
    rig.register(STREAM)
    return rig


def test_other_changes_go_on_while_a_source_is_opened(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    opening = SlowOpening(rig, monkeypatch)
    slow = threading.Thread(target=rig.register, args=[OTHER + COUNT.format("late", "t")])
    slow.start()
    assert opening.began.wait(60)
    rig.register(COUNT.format("quick", "s"))  # would wait for ever
    rig.feed(1)
    rig.run()
    assert rig.records("quick") == [{"a": 1}]
    opening.go.set()
    slow.join(60)
    rig.feed(2, stream="t")
    rig.run()
    assert rig.records("late") == [{"a": 2}]
    assert (opening.opened, opening.closed) == (1, 0)
    rig.service.close()
    assert opening.closed == 1


def test_what_was_opened_for_nothing_is_closed(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    opening = SlowOpening(rig, monkeypatch)
    opening.go.set()
    with pytest.raises(SeineError, match="no stream"):
        rig.register(OTHER + COUNT.format("q", "nowhere"))
    assert opening.opened == 0, "what can be refused is refused before"
    second: list[SeineError] = []
    opening.go.clear()
    opening.began.clear()

    def register() -> None:
        try:
            rig.register(OTHER)
        except SeineError as error:
            second.append(error)

    threads = [threading.Thread(target=register) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert opening.began.wait(60)
    opening.go.set()
    for thread in threads:
        thread.join(60)
    assert [error.message for error in second] == ["stream t exists already"]
    assert opening.opened - opening.closed == 1
    rig.service.close()
