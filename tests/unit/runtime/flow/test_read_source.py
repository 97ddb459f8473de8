"""Streams that Spark reads: any cut into micro-batches and tasks gives the answers of files in order."""

from __future__ import annotations

import itertools
import json
import random
import re
from pathlib import Path

import pyarrow as pa
import pytest

from seine.errors import SeineError
from seine.frontends.script.parser import read_script
from seine.intake.arrived_records import TOPIC, WALL
from seine.intake.intake import Intake
from seine.intake.journal import Journal
from seine.rows.delta import NEVER
from seine.run_local import run_local
from seine.storage.local import LocalStore
from tests.support.paced_rig import NOON, PacedRig, Task, lines_of_files, records_of_topic
from tests.support.seeds import seeds
from tests.support.stateful_script import SCRIPT, silent_queries, sorted_records, write_story

MINUTE = 60_000_000
RETRACTABLE = ("pays", "reviews")
BY_ARRIVAL = {"kept", "best"}  # which tuples they keep follows from arrival numbers


def _without_refused(folder: Path, script: Path) -> list[dict[str, object]]:
    """Take the lines that files in order would have refused out of the input; the answers."""
    first = run_local(str(script))
    gone = {(letter["file"], letter["line"]) for letter in first.dead if "line" in letter}
    for name in {file for file, _ in gone}:
        lines = Path(name).read_text(encoding="utf-8").splitlines(keepends=True)
        kept = [line for number, line in enumerate(lines, 1) if (name, number) not in gone]
        Path(name).write_text("".join(kept), encoding="utf-8")
    return first.records


def _cut(rng: random.Random, folder: Path, streams: list[str], batches: int) -> list[list[Task]]:
    """Consecutive lines of each stream are a micro-batch; within it they go to any tasks in any order."""
    cut: list[list[Task]] = [[] for _ in range(batches)]
    for stream in streams:
        lines = (folder / f"{stream}.jsonl").read_bytes().splitlines()
        bounds = sorted([0, len(lines), *(rng.randrange(len(lines) + 1) for _ in range(batches - 1))])
        for batch, (start, end) in enumerate(itertools.pairwise(bounds)):
            part = lines[start:end]
            tasks = 1  # which of two lines of one instant comes first counts where tuples are deleted
            if stream not in RETRACTABLE:
                rng.shuffle(part)
                tasks = rng.randrange(1, 4)
            cut[batch] += [(stream, lines_of_files(part[i::tasks])) for i in range(tasks if part else 0)]
    for tasks_of_batch in cut:
        rng.shuffle(tasks_of_batch)
    return cut


@seeds(2)
def test_answers_are_those_of_files_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rng = random.Random(seed)
    script = write_story(tmp_path, lines=66, seed=seed)
    expected = [record for record in _without_refused(tmp_path, script) if record["query"] not in BY_ARRIVAL]
    names = re.findall(r"CREATE STREAM (\w+)", SCRIPT)
    read_by_spark = names if seed == 0 else rng.sample(names, rng.randrange(1, len(names)))
    text = SCRIPT
    for name in read_by_spark:
        text = text.replace(f"FROM '{name}.jsonl'", f"USING json OPTIONS (path '{name}.jsonl')")
    changed = tmp_path / "changed.sql"
    changed.write_text(text, encoding="utf-8")
    rig = PacedRig(changed, tmp_path, monkeypatch, batch_rows=rng.choice([20, None]))
    rig.run(_cut(rng, tmp_path, read_by_spark, rng.randrange(1, 7)))
    records = [record for record in rig.records() if record["query"] not in BY_ARRIVAL]
    assert sorted_records(records) == sorted_records(expected) != []
    assert silent_queries(records) <= BY_ARRIVAL | silent_queries(expected)
    assert rig.letters() == []


_TOPIC = "kafka OPTIONS (subscribe 'bids', kafka.bootstrap.servers 'nowhere:1')"
_TABLE = "delta OPTIONS (path 'bids')"
SHORT = """\
CREATE STREAM bid (item BIGINT, price BIGINT, ts {type}) TIMESTAMP BY ts WINDOW {window} {clauses}
  USING kafka OPTIONS (subscribe 'bids', kafka.bootstrap.servers 'nowhere:1') {options};
CREATE QUERY dear AS SELECT item, price FROM bid WHERE price > 10;
CREATE QUERY pairs AS SELECT a.price AS p, b.price AS q FROM bid a, bid b
  WHERE a.item = b.item AND a.price < b.price;
"""


def _rig(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    clauses: str = "",
    options: str = "",
    type_: str = "BIGINT",
    topic: bool = True,
    **more: object,
) -> PacedRig:
    window = "100" if type_ == "BIGINT" else "INTERVAL '1' DAY"
    script = tmp_path / "short.sql"
    text = SHORT.format(type=type_, window=window, clauses=clauses, options=options)
    script.write_text(text if topic else text.replace(_TOPIC, _TABLE), encoding="utf-8")
    return PacedRig(script, tmp_path, monkeypatch, **more)


def _bid(item: int, price: int, ts: object) -> bytes:
    return json.dumps({"item": item, "price": price, "ts": ts}).encode()


def test_late_is_by_micro_batch_where_the_largest_clock_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = _rig(tmp_path, monkeypatch, "LATENESS 2", "WITH (clock = 'largest')")
    first = [("bid", records_of_topic([_bid(1, 20, 9), _bid(1, 21, 3)]))]
    second = [("bid", records_of_topic([_bid(1, 22, 7), _bid(1, 23, 6), _bid(1, 24, 12)], 3, 40))]
    rig.run([first, second])
    assert [record["row"]["price"] for record in rig.records() if record["query"] == "dear"] == [
        20,
        21,
        22,
        24,
    ]
    (letter,) = rig.letters()
    assert letter == {
        "stream": "bid",
        "topic": "bids",
        "partition": 3,
        "offset": 41,
        "reason": "later than LATENESS 2 allows",
        "record": _bid(1, 23, 6).decode(),
    }
    totals = rig.opened.sink.totals
    assert (totals.input_rows, totals.dead_letters) == (5, 1)


def test_the_clock_is_the_least_over_partitions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rig = _rig(tmp_path, monkeypatch, "LATENESS 1")
    rig.batch([("bid", records_of_topic([_bid(1, 1, 50)], 0)), ("bid", records_of_topic([_bid(1, 2, 9)], 1))])
    assert rig.watermarks == {"bid": 8}
    rig.batch([("bid", records_of_topic([_bid(1, 3, 8), _bid(1, 4, 7), _bid(1, 5, 30)], 1, 1))])
    assert rig.watermarks == {"bid": 29}
    rig.batch([("bid", records_of_topic([_bid(1, 6, 29)], 2))])  # a new partition does not turn it back
    assert rig.watermarks == {"bid": 29}
    rig.run([])
    assert [letter["offset"] for letter in rig.letters()] == [2]


def test_a_silent_partition_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = "WITH (idle = INTERVAL '30' SECOND)"
    rig = _rig(tmp_path, monkeypatch, "", options, follow=True)
    rig.set_wall(1000)
    rig.batch([("bid", records_of_topic([_bid(1, 1, 50)], 0)), ("bid", records_of_topic([_bid(1, 2, 9)], 1))])
    assert rig.watermarks == {"bid": 9}
    rig.set_wall(1020)
    rig.batch([("bid", records_of_topic([_bid(1, 3, 60)], 0, 1))])
    assert rig.watermarks == {"bid": 9}
    rig.set_wall(1035)  # partition 1 has been silent for 35 seconds
    assert rig.opened.driver._feed() and rig._is_offered()
    rig.batch([])
    assert rig.watermarks == {"bid": 60} and rig._is_offered()
    rig.batch([("bid", records_of_topic([_bid(1, 4, 59), _bid(1, 5, 61)], 1, 1))])
    assert rig.watermarks == {"bid": 60}  # partition 0 is the slower one now
    assert [letter["offset"] for letter in rig.letters()] == [1]


@pytest.mark.parametrize("largest", [False, True])
def test_a_punctuation_binds_its_partition_and_later_micro_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, largest: bool
) -> None:
    """Where the largest clock counts it binds later micro-batches alone."""
    options = "WITH (clock = 'largest')" if largest else ""
    rig = _rig(tmp_path, monkeypatch, "PUNCTUATED ON (item)", options)
    promise = b'{"@punctuate": {"item": 1}, "ts": 5}'
    first = [_bid(1, 19, 5), promise, _bid(1, 20, 5)]
    both = pa.concat_batches([records_of_topic(first), records_of_topic([_bid(1, 30, 5)], 1)])
    rig.batch([("bid", both)])
    rig.reopen()
    rig.batch([("bid", records_of_topic([_bid(1, 40, 6), _bid(2, 50, 6)], 1, 1))])
    rig.run([])
    prices = [19, 20, 30, 50] if largest else [19, 30, 50]
    assert sorted(r["row"]["price"] for r in rig.records() if r["query"] == "dear") == prices
    places = [(letter["partition"], letter["offset"]) for letter in rig.letters()]
    assert places == ([] if largest else [(0, 2)]) + [(1, 1)]
    assert {letter["reason"] for letter in rig.letters()} == {"breaks an earlier punctuation on (item)"}


def test_topics_of_equal_partition_numbers_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = SHORT.replace("'bids'", "'bids, more'").format(
        type="BIGINT", window=9, clauses="RETRACTABLE", options=""
    )
    script = tmp_path / "two.sql"
    script.write_text(two, encoding="utf-8")
    rig = PacedRig(script, tmp_path, monkeypatch)
    parts = []
    for topic in ("bids", "more"):
        records = records_of_topic([_bid(1, 20, 5)])
        parts.append(records.append_column(TOPIC, pa.array([topic])))
    rig.run([[("bid", pa.concat_batches(parts))]])
    assert [record["row"]["price"] for record in rig.records() if record["query"] == "dear"] == [20, 20]


def test_a_partition_without_records_holds_the_stream_back_until_it_is_idle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = _rig(tmp_path, monkeypatch, follow=True)
    rig.name("bid", 0, 1)
    rig.set_wall(1000)
    rig.batch([("bid", records_of_topic([_bid(1, 1, 50)]))])
    assert rig.watermarks == {"bid": NEVER}
    (status,) = rig.opened.driver._intake.stream_states()
    assert status.silent == ("bids/1",)
    rig.set_wall(1029)
    assert not rig.opened.driver._feed()
    rig.batch([("bid", records_of_topic([_bid(1, 1, 51)], 0, 1))])
    rig.set_wall(1030)  # after 30 seconds, though nothing was declared
    assert rig.opened.driver._feed()
    rig.batch([])
    assert rig.watermarks == {"bid": 51}
    rig.batch([("bid", records_of_topic([_bid(1, 2, 50), _bid(1, 3, 52)], 1))])
    assert [letter["offset"] for letter in rig.letters()] == [0]
    assert rig.opened.driver._intake.stream_states()[0].silent == ()


def test_a_record_far_ahead_of_its_lane_moves_no_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = "WITH (clock = 'item', ahead = 100)"
    for cut in (False, True):
        folder = tmp_path / str(cut)
        folder.mkdir()
        rig = _rig(folder, monkeypatch, "", options)
        records = [_bid(1, 20, 5), _bid(1, 21, 900), _bid(2, 22, 900), _bid(1, 23, 105), _bid(2, 24, 1001)]
        whole = [[("bid", records_of_topic(records))]]
        pieces = [[("bid", records_of_topic([one], 0, offset))] for offset, one in enumerate(records)]
        rig.run(pieces if cut else whole)
        assert [record["row"]["price"] for record in rig.records() if record["query"] == "dear"] == [
            20,
            22,
            23,
        ]
        assert [letter["offset"] for letter in rig.letters()] == [1, 4]


def test_a_record_of_the_future_moves_no_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rig = _rig(tmp_path, monkeypatch, "", "WITH (ahead = INTERVAL '1' HOUR)", "TIMESTAMP")
    times = [NOON, NOON + 90 * MINUTE, NOON]  # of the records
    texts = ["2023-11-14T22:13:20Z", "2023-11-14T23:43:20Z", "9999-01-01T00:00:00Z"]
    records = [_bid(1, 20 + i, text) for i, text in enumerate(texts)]
    rig.run([[("bid", records_of_topic(records, 0, 0, times))]])
    assert [record["row"]["price"] for record in rig.records() if record["query"] == "dear"] == [20, 21]
    (letter,) = rig.letters()
    assert letter["offset"] == 2 and "ahead" in letter["reason"]


def test_hostile_records_are_dead_letters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rig = _rig(tmp_path, monkeypatch)
    pretty = json.dumps({"item": 1, "price": 30, "ts": 5}, indent=2).encode()
    two = _bid(1, 40, 5) + b"\n" + _bid(1, 41, 5)
    split = b'{"item": 1, "price": 50, "ts": 5, "no\nte": 1}'
    records = [
        None,
        b"",
        b" ",
        b"\x00\xff\xfe",
        two,
        split,
        b'{"item": "1", "price": 1, "ts": 5}',
        b"[]",
        pretty,
    ]
    rig.run([[("bid", records_of_topic([*records, _bid(1, 60, 5)], 0, 100))]])
    assert [record["row"]["price"] for record in rig.records() if record["query"] == "dear"] == [30, 60]
    letters = {letter["offset"]: letter["reason"] for letter in rig.letters()}
    assert sorted(letters) == [*range(100, 108)]
    assert "tombstone" in letters[100] and letters[101] == letters[102] == "the record is empty"
    assert letters[104] == letters[105] == "a record is one line"


@seeds(2)
def test_a_batch_that_is_repeated_lets_in_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rng = random.Random(seed)
    rig = _rig(tmp_path, monkeypatch, "LATENESS 3 PUNCTUATED ON (item)")
    records = [_bid(rng.randrange(4), rng.randrange(99), i // 4 + rng.randrange(3)) for i in range(80)]
    records += [b'{"@punctuate": {"item": 3}, "ts": 25}']
    cut = [records[i : i + 9] for i in range(0, 81, 9)]
    for number, part in enumerate(cut):
        tasks = [("bid", records_of_topic(part[i::2], i, number * 9)) for i in range(2)]
        for _ in range(rng.randrange(3)):
            rig.batch(tasks, commit=False)
            rig.reopen()
        rig.batch(tasks)
    rig.run([])

    prices = [record["row"]["price"] for record in rig.records() if record["query"] == "dear"]
    assert len(prices) + len(rig.letters()) <= 80 and len(prices) > 40
    assert rig.opened.sink.totals.input_rows == 80


@pytest.mark.parametrize(
    ("clauses", "records"),
    [
        ("FORMAT CSV", [b"1,20,5", b"1,30,6", b"1,x,6", b"1,2\n1,3,4"]),
        ("FORMAT CSV WITH (delimiter = ';')", [b"1;20;5", b"1;30;6", b"1,20,5", None]),
    ],
)
def test_records_of_csv(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clauses: str, records: list[bytes | None]
) -> None:
    rig = _rig(tmp_path, monkeypatch, "", clauses)
    rig.run([[("bid", records_of_topic(records))]])
    assert [record["row"]["price"] for record in rig.records() if record["query"] == "dear"] == [20, 30]
    assert [letter["offset"] for letter in rig.letters()] == [2, 3]


def test_records_that_are_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "documents.sql"
    script.write_text(
        """CREATE STREAM post (doc XML, id BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 9
        USING kafka OPTIONS (subscribe 'posts', kafka.bootstrap.servers 'h:1')
        FORMAT XML WITH (ts = '/post/@at');
        CREATE QUERY q AS SELECT id, ts FROM post;""",
        encoding="utf-8",
    )
    rig = PacedRig(script, tmp_path, monkeypatch)
    post = b'<post at="5">\n<id>7</id></post>'
    rig.run(
        [[("post", records_of_topic([post, b"<post>", None, b"<!DOCTYPE a [<!ENTITY e 'x'>]><a>&e;</a>"]))]]
    )
    assert [record["row"] for record in rig.records()] == [{"id": 7, "ts": 5}]
    assert [letter["offset"] for letter in rig.letters()] == [1, 2, 3]


def test_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rig = _rig(tmp_path, monkeypatch, "RETRACTABLE", topic=False)
    walls = pa.array([NOON] * 3, pa.int64()).cast(pa.timestamp("us", "UTC"))
    columns = {
        "item": [1, 1, None],
        "price": [20, 20, 30],
        "ts": [5, 6, None],
        "@op": [None, "-", None],
        WALL: walls,
    }
    rig.run([[("bid", pa.RecordBatch.from_pydict(columns))]])
    dear = [(r["op"], r["row"]["price"]) for r in rig.records() if r["query"] == "dear"]
    assert dear == [("+", 20), ("-", 20)]
    (letter,) = rig.letters()
    assert letter["reason"] == "the timestamp is NULL" and '"price": 30' in letter["record"]


def test_a_silent_stream_holds_nobody_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "two.sql"
    text = (
        "CREATE STREAM {} (k BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 9 USING json OPTIONS (path '{}') {};"
    )
    idle = "WITH (idle = INTERVAL '5' SECOND)"
    query = "CREATE QUERY q AS SELECT a.k AS k FROM a, b WHERE a.k = b.k;"
    script.write_text(text.format("a", "a", idle) + text.format("b", "b", "") + query, encoding="utf-8")
    rig = PacedRig(script, tmp_path, monkeypatch, follow=True)
    rig.set_wall(100)
    line = b'{"k": 1, "ts": %d}'
    rig.batch([("a", lines_of_files([line % 3])), ("b", lines_of_files([line % 4]))])
    rig.set_wall(104)
    rig.batch([("b", lines_of_files([line % 8]))])
    assert rig.watermarks == {"a": 3, "b": 8} and not rig.opened.driver._feed()
    rig.set_wall(106)
    assert rig.opened.driver._feed()
    rig.batch([])
    assert rig.watermarks == {"a": 8, "b": 8} and rig._is_offered()
    rig.batch([("a", lines_of_files([line % 7, line % 9]))])
    assert [letter["reason"].split()[0] for letter in rig.letters()] == ["behind"]


def test_a_secret_is_in_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script, options = tmp_path / "secret.sql", tmp_path / "options"
    source = "OPTIONS (subscribe 'bids', kafka.ssl.key.password '${WORD}',"
    text = SHORT.format(type="BIGINT", window="9", clauses="", options="")
    script.write_text(text.replace("OPTIONS (subscribe 'bids',", source), encoding="utf-8")
    with pytest.raises(SeineError, match=r"needs \$\{WORD\}"):
        PacedRig(script, tmp_path / "none")
    options.write_text("WORD = correct horse battery\n", encoding="utf-8")
    (tmp_path / "run").mkdir()
    rig = PacedRig(script, tmp_path / "run", monkeypatch, options_file=str(options))
    (stream,) = rig.opened.reading.streams
    assert stream.reader is not None
    assert "correct horse battery" in rig.opened.reading.secrets.resolved("bid", stream.reader).values()
    rig.run([[("bid", records_of_topic([_bid(1, 20, 5), b"no"]))]])
    texts = [path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert len(texts) > 5 and not [text for text in texts if b"horse" in text]


def test_streams_that_spark_reads_need_spark(tmp_path: Path) -> None:
    script = tmp_path / "short.sql"
    script.write_text(SHORT.format(type="BIGINT", window="9", clauses="", options=""), encoding="utf-8")
    with pytest.raises(SeineError, match="stream bid is read by Spark"):
        run_local(str(script))
    stream = read_script(str(script)).declarations.streams["bid"]
    with pytest.raises(SeineError, match="which is not here"):
        Intake([stream], Journal(LocalStore(str(tmp_path / "j"))))
