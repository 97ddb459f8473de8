"""Streams that queries combine advance together; others know nothing of each other."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from seine.algebra.definitions import Source, StreamDef
from seine.algebra.types import BIGINT, TIMESTAMP, Field
from seine.intake.alignment import NO_LEAD, Components, Lead
from seine.intake.fed_pipeline import FixedNetwork
from seine.intake.intake import Intake
from seine.intake.journal import Entry, Journal
from seine.storage.local import LocalStore

ALONE: Components = ()


def stream(folder: Path, name: str, times: list[str]) -> StreamDef:
    path = folder / f"{name}.jsonl"
    path.write_text("".join(f'{{"ts": {time}}}\n' for time in times))
    kind = TIMESTAMP if times[0].startswith('"') else BIGINT
    return StreamDef(name, (Field("ts", kind),), 0, Source(str(path)))


def two_streams(folder: Path, kind: str) -> list[StreamDef]:
    if kind == "plain":
        return [
            stream(folder, "s", [str(1_700_000_000_000 + i) for i in range(100)]),
            stream(folder, "t", [str(1_700_000_000 + i) for i in range(100)]),
        ]
    start = datetime(2024, 1, 1, tzinfo=UTC)
    times = [[start + timedelta(minutes=late, seconds=i) for i in range(100)] for late in (10, 0)]
    texts = [[f'"{time.isoformat()}"' for time in part] for part in times]
    return [stream(folder, name, text) for name, text in zip("st", texts, strict=True)]


def first_entry(
    folder: Path, streams: list[StreamDef], components: Components | None, lead: Lead = NO_LEAD
) -> Entry:
    journal = Journal(LocalStore(str(folder / "j")))
    intake = Intake(
        streams, journal, FixedNetwork(components=components), batch_rows=10, follow=True, lead=lead
    )
    entry = intake.next_entry()
    assert entry is not None
    return entry


@pytest.mark.parametrize("kind", ["plain", "timestamp"])
def test_streams_of_no_common_query_both_flow(tmp_path: Path, kind: str) -> None:
    entry = first_entry(tmp_path, two_streams(tmp_path, kind), ALONE)
    assert entry.rows == {"s": 10, "t": 10}


@pytest.mark.parametrize("kind", ["plain", "timestamp"])
def test_streams_that_are_joined_advance_together(tmp_path: Path, kind: str) -> None:
    entry = first_entry(tmp_path, two_streams(tmp_path, kind), [frozenset("st")])
    assert entry.rows == {"t": 10}


def test_a_lead_lets_one_run_ahead_so_far_and_no_further(tmp_path: Path) -> None:
    streams = two_streams(tmp_path, "timestamp")
    lead = Lead(timestamp=10 * 60_000_000 - 5_000_000)
    entry = first_entry(tmp_path, streams, [frozenset("st")], lead)
    assert entry.rows == {"s": 5, "t": 10}, "t reaches second 9, so s may reach second 4 of its minute"


def test_the_lead_of_the_other_time_domain_is_of_no_use(tmp_path: Path) -> None:
    entry = first_entry(tmp_path, two_streams(tmp_path, "plain"), [frozenset("st")], Lead(timestamp=2**60))
    assert entry.rows == {"t": 10}
