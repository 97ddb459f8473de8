"""Samples of files: true to what is in them, bounded, and the same every time."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seine.algebra.definitions import RelationDef, Scheme, Source, StreamDef
from seine.algebra.types import BIGINT, STRING, XML, Field
from seine.errors import SeineError
from seine.intake import file_looks
from seine.runtime.source_samples import SourceSample, sample_source

FIELDS = (Field("k", BIGINT), Field("ts", BIGINT), Field("name", STRING))


def stream(path: Path, format_: str = "JSON", **options: str) -> StreamDef:
    return StreamDef("s", FIELDS, 1, Source(str(path), format_, tuple(options.items())), window=10)


def row(number: int) -> dict[str, object]:
    return {"k": number % 7, "ts": number, "name": "x" * (number % 50)}


def write_lines(path: Path, numbers: range, *odd: str) -> None:
    lines = [json.dumps(row(number)) for number in numbers]
    path.write_text("\n".join([*odd, *lines]) + "\n", encoding="utf-8")


def sampled(declared: StreamDef | RelationDef, most: int = 1_000) -> SourceSample:
    sample = sample_source(declared, most)
    assert sample is not None
    return sample


def test_a_small_file_is_seen_whole(tmp_path: Path) -> None:
    refused = ['{"k": "no number", "ts": 3}', '{"@op": "delete", "k": 1, "ts": 0}', "", "no JSON"]
    write_lines(tmp_path / "s.jsonl", range(200), *refused)
    sample = sampled(stream(tmp_path / "s.jsonl"))
    assert (sample.seen, sample.span, sample.rows.num_rows) == (200, 199, 200)
    assert sample.rows.column(0).to_pylist() == [number % 7 for number in range(200)]
    few = sampled(stream(tmp_path / "s.jsonl"), most=10)
    assert (few.seen, few.span, few.rows.num_rows) == (200, 199, 10)
    assert few.rows.column(1).to_pylist() == [0, 22, 44, 66, 88, 110, 132, 154, 176, 199]


@pytest.mark.parametrize("files", [1, 3, 200])
def test_a_large_source_is_estimated_from_looks_all_over_it(tmp_path: Path, files: int) -> None:
    count = 30_000
    for number, part in enumerate(np.array_split(np.arange(count), files)):
        write_lines(tmp_path / f"{number:04}.jsonl", range(part[0], part[-1] + 1))
    sample = sampled(stream(tmp_path))
    assert 0.9 * count < sample.seen < 1.1 * count
    assert sample.rows.num_rows == 1_000 and sample.span > 0.95 * count
    counts = np.bincount(sample.rows.column(0).to_numpy())
    assert len(counts) == 7 and counts.min() > 50
    assert sampled(stream(tmp_path)).rows == sample.rows


def test_csv_of_any_form(tmp_path: Path) -> None:
    lines = [f'{n},{n % 7},"a;{n}"' for n in range(20_000)]
    (tmp_path / "h.csv").write_text("\n".join(["ts,k,name", *lines]), encoding="utf-8-sig")
    sample = sampled(stream(tmp_path / "h.csv", "CSV"))
    assert 0.9 * 20_000 < sample.seen < 1.1 * 20_000
    assert sample.rows.column(0).to_numpy().max() == 6 and sample.span > 19_000
    (tmp_path / "n.csv").write_text("1;5;a\n2;6;b", encoding="utf-8")
    sample = sampled(stream(tmp_path / "n.csv", "CSV", delimiter=";", header="false"))
    assert sample.seen == 2 and sample.rows.column(2).to_pylist() == ["a", "b"]


@pytest.mark.parametrize("group", [1_000, 50_000])
def test_parquet_by_row_groups(tmp_path: Path, group: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pa.Table.from_pylist([row(number) for number in range(20_000)])
    pq.write_table(rows, tmp_path / "a.parquet", row_group_size=group)
    sample = sampled(stream(tmp_path / "a.parquet", "PARQUET"))
    assert sample.seen == pytest.approx(20_000) and sample.span > 19_000 and sample.rows.num_rows == 1_000
    monkeypatch.setattr(file_looks, "_LARGE_GROUP_BYTES", 1)
    sample = sampled(stream(tmp_path / "a.parquet", "PARQUET"))
    assert sample.seen == pytest.approx(20_000) and 15_000 < sample.span < 25_000


def test_xml_by_its_first_files(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number:02}.xml").write_text(f"<d><k>3</k><ts>{number:02}</ts></d>", encoding="utf-8")
    documents = StreamDef("s", (*FIELDS[:2], Field("doc", XML)), 1, Source(str(tmp_path), "XML"), window=10)
    sample = sampled(documents, most=5)
    assert sample.rows.num_rows == 5 and sample.seen == 20 and sample.rows.column(0).to_pylist() == [3] * 5


@pytest.mark.parametrize("count", [100, 20_000])
def test_punctuations_are_counted_by_scheme(tmp_path: Path, count: int) -> None:
    lines = [json.dumps(row(n) if n % 4 else {"@punctuate": {"k": n}, "ts": n}) for n in range(count)]
    (tmp_path / "s.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    sample = sampled(replace(stream(tmp_path / "s.jsonl"), schemes=(Scheme((2,)), Scheme((0,)))))
    assert 0.65 * count < sample.seen < 0.85 * count
    assert [*sample.punctuations] == [1] and 0.15 * count < sample.punctuations[1] < 0.35 * count


def test_a_relation_has_no_time(tmp_path: Path) -> None:
    write_lines(tmp_path / "r.jsonl", range(30))
    relation = RelationDef("r", FIELDS, Source(str(tmp_path / "r.jsonl")))
    assert (sampled(relation).seen, sampled(relation).span) == (30, 0)


def test_what_has_no_rows_has_no_sample(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "bad.jsonl").write_text("no JSON\n", encoding="utf-8")
    os.mkfifo(tmp_path / "fifo")
    for name in ("missing.jsonl", "empty.jsonl", "bad.jsonl", "fifo"):
        assert sample_source(stream(tmp_path / name), 10) is None
    table = RelationDef("r", FIELDS, Source("sqlite:///x.db", options=(("table", "t"),)))
    assert sample_source(table, 10) is None
    (tmp_path / "header.csv").write_text("ts,k,other\n1,2,3\n", encoding="utf-8")
    with pytest.raises(SeineError, match="unknown column 'other'"):
        sample_source(stream(tmp_path / "header.csv", "CSV"), 10)
