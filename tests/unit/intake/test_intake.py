"""Intake end to end: entries against the plain judge, cuts, resumption, alignment, formats."""

from __future__ import annotations

import itertools
import json
import random
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seine.algebra.definitions import RelationDef, Scheme, Source, StreamDef
from seine.algebra.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, TIMESTAMP, Field
from seine.errors import SeineError
from seine.intake import intake as intake_module
from seine.intake import parquet
from seine.intake.fed_pipeline import FixedNetwork
from seine.intake.intake import Intake
from seine.intake.journal import Entry, Journal
from seine.intake.relations import load_relation
from seine.rows.delta import FOREVER
from seine.storage.local import LocalStore
from tests.support.paths import CONFORMANCE
from tests.support.seeds import seeds

from .test_admission import FIELDS, PlainJudge, random_line

SHARED = CONFORMANCE / "relational" / "bad_input"


def entries(intake: Intake) -> Iterator[Entry]:
    while (entry := intake.next_entry()) is not None:
        yield entry


def story(written: list[Entry], streams: list[StreamDef]) -> dict[str, Any]:
    """Everything that was admitted and refused, stream by stream."""
    facts: dict[str, Any] = {}
    for stream in streams:
        batches = [entry.batch(stream.name) for entry in written]
        facts[stream.name] = [row for batch in batches if batch is not None for row in batch.to_pylist()]
    letters = [letter for entry in written for letter in entry.dead_letters()]
    facts["dead"] = sorted((letter["stream"], letter["line"]) for letter in letters)
    return facts


def make_streams(folder: Path, rng: random.Random, lines: int = 150) -> list[StreamDef]:
    streams = []
    for index in range(3):
        path = folder / f"s{index}.jsonl"
        speed = rng.choice([1, 3, 20])
        text = [random_line(rng, i // speed) if rng.random() > 0.03 else "oops" for i in range(lines)]
        blanks = [line + rng.choice(["\n", "\n\n", "\r\n"]) for line in text]
        path.write_text("".join(blanks).rstrip("\n"), encoding="utf-8")
        schemes = (Scheme((0,), rng.choice([None, 9])), Scheme((0, 1)), Scheme((2, 3)))
        streams.append(
            StreamDef(
                f"s{index}",
                FIELDS,
                3,
                Source(str(path)),
                lateness=rng.choice([0, 4]),
                schemes=schemes,
                retractable=rng.random() < 0.5,
            )
        )
    return streams


def judged(streams: list[StreamDef]) -> dict[str, Any]:
    expected: dict[str, Any] = {"dead": []}
    for stream in streams:
        judge = PlainJudge(stream)
        assert stream.source is not None
        lines = Path(stream.source.path).read_bytes().decode().split("\n")
        for number, line in enumerate(lines, 1):
            if line.strip() == "oops":
                judge.dead.append(number)
            elif line.strip():
                judge.line(number, line)
        expected["dead"] += [(stream.name, line) for line in judge.dead]
        expected[stream.name] = [
            {"_q": q, **({"_o": op} if stream.retractable else {}), **row} for q, op, row in judge.accepted
        ]
    expected["dead"].sort()
    return expected


@seeds(8)
def test_entries_tell_what_the_plain_judge_says(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    streams = make_streams(tmp_path, rng)
    expected = judged(streams)
    rows = rng.choice([5, 13, 40, None])
    intake = Intake(
        streams, Journal(LocalStore(str(tmp_path / "j"))), FixedNetwork(version=3), batch_rows=rows
    )
    written = list(entries(intake))
    assert story(written, streams) == expected and expected["dead"] and expected["s0"]
    assert [entry.end for entry in written] == [False] * (len(written) - 1) + [True]
    assert intake.next_entry() is None
    for entry in written[:-1]:
        marks = [entry.punctuations(stream.name) for stream in streams]
        assert entry.rows or entry.dead or any(mark is not None for mark in marks)
        assert all(count <= (rows or 10**9) for count in entry.rows.values())
        assert entry.network == 3
    final = written[-1].clock
    assert set(final.watermarks.values()) == {FOREVER} and not written[-1].rows
    tuples = [row for s in streams for row in expected[s.name] if row.get("_o", 1) == 1]
    assert final.now == {"plain": max(row["c3"] for row in tuples)}


def test_watermarks_keep_their_punctuation(tmp_path: Path) -> None:
    streams = make_streams(tmp_path, random.Random(5))
    written = list(entries(Intake(streams, Journal(LocalStore(str(tmp_path / "j"))), batch_rows=9)))
    for stream in streams:
        for earlier, later in itertools.pairwise(written):
            batch = later.batch(stream.name)
            if batch is not None:
                assert min(batch.column("c3").to_pylist()) >= earlier.clock.watermarks[stream.name]


@pytest.mark.parametrize("rows", [11, None])
def test_resuming_after_any_entry_gives_the_same_entries(
    tmp_path: Path, rows: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake_module, "DEFAULT_BYTES", 1000)
    streams = make_streams(tmp_path, random.Random(8), lines=80)
    whole = list(entries(Intake(streams, Journal(LocalStore(str(tmp_path / "whole"))), batch_rows=rows)))
    assert len(whole) > 5
    steps = Journal(LocalStore(str(tmp_path / "steps")))
    for expected in whole:
        if expected.number % 3 == 2:
            steps.discard_before(expected.number - 1)
        entry = Intake(streams, steps, batch_rows=rows).next_entry()
        assert entry is not None
        assert story([entry], streams) == story([expected], streams)
        assert (entry.clock, entry.end, entry.number) == (expected.clock, expected.end, expected.number)
        for stream in streams:
            assert entry.punctuations(stream.name) == expected.punctuations(stream.name)
    assert Intake(streams, steps, batch_rows=rows).next_entry() is None


def test_resuming_in_a_copy_of_the_files_goes_on(tmp_path: Path) -> None:
    streams = make_streams(tmp_path, random.Random(3))
    expected = judged(streams)
    journal = Journal(LocalStore(str(tmp_path / "j")))
    first = Intake(streams, journal, batch_rows=20)
    written = [first.next_entry() for _ in range(4)]
    for stream in streams:
        assert stream.source is not None
        shutil.copy(stream.source.path, tmp_path / "copy")
        (tmp_path / "copy").replace(stream.source.path)
    written += list(entries(Intake(streams, journal, batch_rows=20)))
    assert story([entry for entry in written if entry], streams) == expected


def test_streams_advance_together(tmp_path: Path) -> None:
    dense, sparse = tmp_path / "dense.jsonl", tmp_path / "sparse.jsonl"
    dense.write_text("".join(f'{{"ts": {i}}}\n' for i in range(1000)))
    sparse.write_text("".join(f'{{"ts": {i}}}\n' for i in range(0, 1000, 100)))
    streams = [
        StreamDef(name, (Field("ts", BIGINT),), 0, Source(str(tmp_path / f"{name}.jsonl")))
        for name in ("dense", "sparse")
    ]
    written = list(entries(Intake(streams, Journal(LocalStore(str(tmp_path / "j"))), batch_rows=100)))
    assert len(written) == 11 and sum(entry.rows.get("sparse", 0) for entry in written) == 10
    for entry in written[:-2]:
        batch = entry.batch("sparse")
        assert batch is not None
        assert max(batch.column("c0").to_pylist()) <= entry.clock.watermarks["dense"]
    assert written[-2].clock.watermarks == {"dense": FOREVER, "sparse": FOREVER}


def test_empty_sources_end_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("\n \n")
    stream = StreamDef("a", FIELDS, 3, Source(str(tmp_path / "a.jsonl")))
    written = list(entries(Intake([stream], Journal(LocalStore(str(tmp_path / "j"))))))
    assert [entry.end for entry in written] == [True] and written[0].clock.now == {}


def test_sources_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    journal = Journal(LocalStore(str(tmp_path / "j")))
    stream = StreamDef("bid", FIELDS, 3, Source(str(tmp_path / "x.jsonl")))
    with pytest.raises(SeineError, match=r"cannot read '.*x.jsonl' of stream bid: no such file"):
        Intake([stream], journal)
    Intake([stream], journal, follow=True)
    with pytest.raises(SeineError, match="no such file"):
        Intake([replace(stream, source=Source(str(tmp_path / "no" / "x.jsonl")))], journal, follow=True)
    with pytest.raises(SeineError, match="unknown FORMAT AVRO"):
        Intake([replace(stream, source=Source(str(tmp_path), "AVRO"))], journal)
    with pytest.raises(SeineError, match="no file matches"):
        Intake([replace(stream, source=Source(str(tmp_path / "*.csv"), "CSV"))], journal)


def test_a_folder_is_read_in_name_order(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for name, value in (("b.jsonl", 2), ("a.jsonl", 1), ("c.jsonl", 3), (".hidden", 0), ("_tmp", 0)):
        (folder / name).write_text(f'{{"a":{value},"ts":1}}')
    for path in (folder, folder / "*.jsonl"):
        stream = StreamDef("s", FIELDS, 3, Source(str(path)))
        written = list(
            entries(Intake([stream], Journal(LocalStore(str(tmp_path / f"j{path.name[0]}"))), batch_rows=2))
        )
        assert [row["c0"] for row in story(written, [stream])["s"]] == [1, 2, 3]


def test_csv(tmp_path: Path) -> None:
    fields = (Field("a", INT), Field("b", STRING), Field("ok", BOOLEAN), Field("ts", TIMESTAMP))
    text = (
        'B;TS;@op\r\n"x;""y";2020-01-01;\r\n;2020-01-01T00:00:01Z;-\n\n"";bad;\n"";2020-01-02;\n'
        "z;;\nz;2020-01-02;+\nz\n"
    )
    (tmp_path / "s.csv").write_text("\ufeff" + text)
    source = Source(str(tmp_path / "s.csv"), "CSV", (("delimiter", ";"),))
    stream = StreamDef("s", fields, 3, source, retractable=True)
    admitted = story(
        list(entries(Intake([stream], Journal(LocalStore(str(tmp_path / "j"))), batch_rows=2))), [stream]
    )
    assert [(row["c1"], row["_o"]) for row in admitted["s"]] == [('x;"y', 1), (None, -1), ("", 1)]
    assert admitted["dead"] == [("s", line) for line in (5, 7, 8, 9)]


def test_csv_without_header_and_with_a_wrong_one(tmp_path: Path) -> None:
    fields = (Field("a", INT), Field("ok", BOOLEAN), Field("ts", BIGINT))
    (tmp_path / "s.csv").write_text("1,true,5\n2,yes,6\n,FALSE,7\n2147483648,,8\n")
    source = Source(str(tmp_path / "s.csv"), "CSV", (("header", "false"),))
    stream = StreamDef("s", fields, 2, source)
    admitted = story(list(entries(Intake([stream], Journal(LocalStore(str(tmp_path / "j")))))), [stream])
    assert [(row["c0"], row["c1"]) for row in admitted["s"]] == [(1, True), (None, False)]
    assert admitted["dead"] == [("s", 2), ("s", 4)]
    wrong = replace(stream, source=Source(str(tmp_path / "s.csv"), "CSV"))
    with pytest.raises(SeineError, match="unknown column"):
        Intake([wrong], Journal(LocalStore(str(tmp_path / "k")))).next_entry()


def test_parquet(tmp_path: Path) -> None:
    table = pa.table(
        {
            "TS": pa.array(range(100), pa.int32()),
            "a": pa.array([2**40 if i == 7 else i for i in range(100)], pa.int64()),
            "b": pa.array([str(i) for i in range(100)]).dictionary_encode(),
        }
    )
    pq.write_table(table, tmp_path / "s.parquet", row_group_size=30)
    fields = (Field("a", INT), Field("b", STRING), Field("x", DOUBLE), Field("ts", BIGINT))
    stream = StreamDef("s", fields, 3, Source(str(tmp_path / "s.parquet"), "PARQUET"))
    collected = []
    for _ in range(100):
        entry = Intake([stream], Journal(LocalStore(str(tmp_path / "j"))), batch_rows=17).next_entry()
        if entry is None:
            break
        collected.append(entry)
    admitted = story(collected, [stream])
    assert admitted["dead"] == [("s", 8)] and collected[-1].end
    assert [row["c3"] for row in admitted["s"]] == [i for i in range(100) if i != 7]
    assert admitted["s"][9]["c1"] == "10" and admitted["s"][9]["c2"] is None
    for bad in (table.rename_columns(["TS", "a", "z"]), table.drop_columns(["TS"])):
        pq.write_table(bad, tmp_path / "bad.parquet")
        wrong = replace(stream, source=Source(str(tmp_path / "bad.parquet"), "PARQUET"))
        with pytest.raises(SeineError, match="column"):
            Intake([wrong], Journal(LocalStore(str(tmp_path / "k"))))


def test_a_row_group_is_decoded_once_whatever_the_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"ts": pa.array(range(100)), "b": pa.array([f"t{i}" for i in range(100)])})
    pq.write_table(table, tmp_path / "s.parquet", row_group_size=30)
    fields = (Field("ts", BIGINT), Field("b", STRING))
    stream = StreamDef("s", fields, 0, Source(str(tmp_path / "s.parquet"), "PARQUET"))
    decoded, read_group = [], parquet._read_group

    def counting(path: str, file: pq.ParquetFile, group: int) -> pa.Table:
        decoded.append(group)
        return read_group(path, file, group)

    monkeypatch.setattr(parquet, "_read_group", counting)
    admitted = story(
        list(entries(Intake([stream], Journal(LocalStore(str(tmp_path / "j"))), batch_rows=7))), [stream]
    )
    assert [row["c1"] for row in admitted["s"]] == [f"t{i}" for i in range(100)]
    assert decoded == [0, 1, 2, 3]


def test_relations(tmp_path: Path) -> None:
    lines = ['{"a":1,"b":3,"e":5}', '{"a":2,"b":5,"e":3}', '{"a":3,"b":5}', '{"a":"x"}', '{"@op":"-","a":1}']
    (tmp_path / "r.jsonl").write_text("\n".join(lines))
    fields = (Field("a", BIGINT), Field("b", BIGINT), Field("e", BIGINT))
    relation = RelationDef("r", fields, Source(str(tmp_path / "r.jsonl")), (1, 2))
    rows, dead = load_relation(relation)
    assert rows.column("c0").to_pylist() == [1, 3]
    assert [letter["line"] for letter in dead] == [2, 4, 5] and dead[0]["stream"] == "r"
    assert rows.schema.names == ["c0", "c1", "c2"]


@pytest.mark.skipif(not SHARED.exists(), reason="the conformance kit is not here")
@pytest.mark.parametrize("rows", [37, None])
def test_the_bad_input_of_the_conformance_kit(tmp_path: Path, rows: int | None) -> None:
    def fields(text: str) -> tuple[Field, ...]:
        types = {"b": BIGINT, "d": DOUBLE, "s": STRING, "o": BOOLEAN, "i": INT}
        return tuple(Field(word[2:], types[word[0]]) for word in text.split())

    def source(name: str) -> Source:
        return Source(str(SHARED / f"{name}.jsonl"))

    bids = StreamDef(
        "bids", fields("b:item b:cust d:amount b:ts"), 3, source("bids"), 80, 0, (Scheme((0,)),), True
    )
    orders = StreamDef(
        "orders",
        fields("b:oid b:cust b:item d:amount s:note b:ts"),
        5,
        source("orders"),
        50,
        retractable=True,
    )
    pays = StreamDef(
        "pays", fields("b:oid b:cust d:amount s:method o:ok i:tries b:ts"), 6, source("pays"), 100, 5
    )
    product = RelationDef("product", fields("b:item s:name d:price"), source("product"))
    streams = [bids, orders, pays]
    written = list(entries(Intake(streams, Journal(LocalStore(str(tmp_path))), batch_rows=rows)))
    admitted = story(written, streams)
    assert len(admitted["dead"]) + len(load_relation(product)[1]) == 91
    assert all(len(admitted[stream.name]) > 50 for stream in streams)
    letter = json.loads(json.dumps(written[0].dead_letters()[0]))
    assert list(letter) == ["stream", "file", "line", "reason", "record"]
