"""What an operator is told of each stream: position, lag, watermark, dead letters, whom it keeps waiting."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from seine.algebra.definitions import Source, StreamDef
from seine.algebra.types import BIGINT, Field
from seine.intake.fed_pipeline import FixedNetwork
from seine.intake.intake import Intake
from seine.intake.journal import Journal
from seine.storage.local import LocalStore

FIELDS = (Field("ts", BIGINT),)


def lines(*times: int) -> str:
    return "".join(f'{{"ts": {time}}}\n' for time in times)


def test_the_status_of_streams(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text(lines(5, 3, 7) + "oops\n" + lines(8, 9))
    (tmp_path / "t.jsonl").write_text(lines(2))
    streams = [StreamDef(name, FIELDS, 0, Source(str(tmp_path / f"{name}.jsonl"))) for name in "st"]
    intake = Intake(
        streams,
        Journal(LocalStore(str(tmp_path / "j"))),
        FixedNetwork(components=[frozenset("st")]),
        batch_rows=4,
        follow=True,
    )
    before = intake.stream_states()
    assert [(one.stream, one.position, one.watermark) for one in before] == [("s", 0, None), ("t", 0, None)]
    assert [one.lag_bytes for one in before] == [5 + 5 * 10, 10]
    assert intake.next_entry() is not None and intake.next_entry() is not None
    s, t = intake.stream_states()
    assert (s.file, s.position, s.arrivals) == (str(tmp_path / "s.jsonl"), 35, 2)
    assert (s.dead, s.late, s.last_reason) == (2, 1, "broken JSON: Expecting value at column 1")
    assert (s.lag_bytes, s.watermark, s.holds_back) == (20, 7, ())
    assert (t.lag_bytes, t.watermark, t.holds_back) == (0, 2, ("s",))
    assert t.condition.state == "running" and t.advanced >= t.condition.since > 0
    while intake.next_entry() is not None:
        pass
    again = Intake(streams, Journal(LocalStore(str(tmp_path / "j"))), follow=True)
    assert again.stream_states()[0].dead == 2, "counts outlive the process"


def test_the_lag_of_parquet_files_counts_rows(tmp_path: Path) -> None:
    pq.write_table(pa.table({"ts": list(range(100))}), tmp_path / "a.parquet")
    stream = StreamDef("s", FIELDS, 0, Source(str(tmp_path / "a.parquet"), "PARQUET"))
    intake = Intake([stream], Journal(LocalStore(str(tmp_path / "j"))), batch_rows=30, follow=True)
    intake.next_entry()
    (status,) = intake.stream_states()
    size = (tmp_path / "a.parquet").stat().st_size
    assert (status.position, status.lag_rows) == (30, 70)
    assert abs(status.lag_bytes - 0.7 * size) <= 1
