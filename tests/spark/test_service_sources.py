"""A service whose streams Spark reads: they come and go while it runs, and nothing is lost or read twice."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from seine.errors import SeineError
from seine.intake.journal import Entry
from seine.run_local import run_local
from seine.runtime.driver import Driver
from seine.runtime.option_secrets import OptionSecrets
from seine.service.access.principal import LOCAL
from seine.service.console.console_questions import ConsoleQuestions
from seine.service.folder import ServiceFolder
from seine.service.service import Service, ServiceOptions
from seine.service.tail import read_records
from seine.spark.spark_host import Restarts, run_on_spark
from tests.support.everywhere import EVERYWHERE
from tests.support.kafka_broker import KafkaBroker
from tests.support.stateful_script import sorted_records

pytestmark = pytest.mark.spark

COLUMNS = "(k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 50"
PAIRS = "CREATE QUERY pairs AS SELECT a.v AS x, b.v AS y FROM s a, t b WHERE a.k = b.k;\n"
CHAIN = (
    "CREATE QUERY chain AS SELECT a.v AS x FROM s a, s b, s c"
    " WHERE a.k = b.k AND c.k = b.k + 1 AND a.ts < b.ts AND b.ts < c.ts;\n"
)


class Served:
    """A service in this process, hosted by the Spark of all tests in a thread of its own."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        self.open()

    def open(self) -> None:
        secrets = OptionSecrets({"WORD": "correct horse"}, environment=False)
        options = ServiceOptions(depth=1, secrets=secrets, reach=EVERYWHERE)
        self.service = Service(ServiceFolder(str(self.folder / "state")), options)
        self.thread = threading.Thread(target=self._host, daemon=True)
        self.trouble: BaseException | None = None
        self.thread.start()

    def _host(self) -> None:
        try:
            run_on_spark(self.spark, self.service, restarts=Restarts(most=None))
        except BaseException as error:  # the thread's last words
            self.trouble = error

    def crash(self) -> None:
        """Leave everything as a kill would: nothing is closed in order, only the lock goes."""
        self.thread.join(60)
        assert not self.thread.is_alive()
        self.service._lock.release()
        self.service.driver.close()
        self.service.publisher.end()
        self.open()

    def register(self, text: str) -> None:
        self.service.registrar.register(text, file="x.sql", folder=str(self.folder))

    def stop(self) -> None:
        self.service.stop()
        self.thread.join(60)
        self.service.close()

    def wait(self, done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 300
        while not done():
            assert self.trouble is None, self.trouble
            assert time.monotonic() < deadline, self.service.status()
            time.sleep(0.05)

    def settle(self, rows: int) -> None:
        self.wait(lambda: self.service.status()["input_rows"] >= rows)
        assert self.service.status()["input_rows"] == rows

    def records(self, query: str) -> list[str]:
        lines = read_records(self.service.sink.index, query, 0).lines.splitlines()
        return sorted_records([json.loads(line) for line in lines])

    @property
    def branches(self) -> list[str]:
        return [branch.stream for branch in self.service.deployment.settings.branches]


@pytest.fixture
def served(spark: SparkSession, tmp_path: Path) -> Iterator[Served]:
    served = Served(spark, tmp_path)
    yield served
    served.stop()


class Feeder:
    """Rows for streams, by topic and by file, and what was sent to each."""

    def __init__(self, kafka: KafkaBroker, folder: Path) -> None:
        self.kafka, self.folder = kafka, folder
        self.sent: dict[str, list[dict[str, int]]] = {}
        self.count = 0

    def rows(self, stream: str, count: int) -> list[bytes]:
        fresh = [{"k": i % 3, "v": i, "ts": self.count + i // 3} for i in range(count)]
        self.count += count // 3
        self.sent.setdefault(stream, []).extend(fresh)
        return [json.dumps(row).encode() for row in fresh]

    def topic(self, stream: str, topic: str, count: int) -> None:
        self.kafka.send(topic, [(i % 2, record) for i, record in enumerate(self.rows(stream, count))])

    def expected(self, query: str) -> list[str]:
        """What a run of files reports."""
        folder = self.folder / f"alone-{time.monotonic_ns()}"
        folder.mkdir()
        script = ""
        for stream, rows in self.sent.items():
            (folder / f"{stream}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
            script += f"CREATE STREAM {stream} {COLUMNS} LATENESS 100 FROM '{stream}.jsonl';\n"
        (folder / "x.sql").write_text(script + query)
        return sorted_records(run_local(str(folder / "x.sql")).records)


def _offsets(served: Served, stream: str) -> Any:
    states: dict[str, Any] = {one["stream"]: one for one in served.service.streams()}
    return states[stream]["position"]["offsets"]


def test_sources_come_and_go(served: Served, kafka: KafkaBroker, tmp_path: Path) -> None:
    feeder = Feeder(kafka, tmp_path)
    (tmp_path / "lines").mkdir()
    for topic in ("live-s", "live-t"):
        kafka.create_topic(topic, 2)
    served.register(
        f"CREATE STREAM s {COLUMNS} LATENESS 100 FROM 'kafka://{kafka.servers}/live-s';\n"
        f"CREATE STREAM t {COLUMNS} LATENESS 100 FROM 't.jsonl';\n" + PAIRS
    )
    feeder.topic("s", "live-s", 6)
    with (tmp_path / "t.jsonl").open("ab") as file:
        file.writelines(line + b"\n" for line in feeder.rows("t", 6))
    served.settle(12)
    assert served.branches == ["s"]
    script = "CREATE QUERY tried AS SELECT v FROM s WHERE v > 1;"
    tried = ConsoleQuestions(served.service).try_out(LOCAL, script, str(tmp_path), replace=False)
    assert tried["rows"] == {"s": 6} and tried["total"] == 4
    assert sorted(one["row"]["v"] for one in tried["records"]) == [2, 3, 4, 5]
    served.register(
        "CREATE STREAM u (v BIGINT, ts BIGINT) TIMESTAMP BY ts USING json OPTIONS (path 'lines');"
    )
    feeder.topic("s", "live-s", 6)
    served.wait(lambda: served.branches == ["s", "u"])
    (tmp_path / "lines" / "a.json").write_text('{"v": 1, "ts": 1}\n{"v": 2, "ts": 1.5}\n')
    served.settle(20)
    served.register(CHAIN)  # more stages: both go on where they were
    feeder.topic("s", "live-s", 6)
    served.settle(26)
    assert served.service.status()["depth"]["stages"] > 1
    served.stop()
    (tmp_path / "lines" / "b.json").write_text('{"v": 3, "ts": 1}\n')
    feeder.topic("s", "live-s", 3)
    served.open()
    served.settle(30)
    served.register("DROP STREAM u;")
    served.wait(lambda: served.branches == ["s"])
    feeder.topic("s", "live-s", 3)
    served.settle(33)
    assert served.records("pairs") == feeder.expected(PAIRS) != []
    with pytest.raises(SeineError, match="Spark cannot read stream x"):
        served.register(f"CREATE STREAM x {COLUMNS} FROM 'kafka://{kafka.servers}/nowhere';")
    letters = served.service.dead_letters(0, "u", 10)["letters"]
    assert [letter["reason"] for letter in letters] and len(letters) == 1
    served.wait(lambda: _offsets(served, "s") == {"live-s": {"0": 13, "1": 11}})
    states: dict[str, Any] = {one["stream"]: one for one in served.service.streams()}
    assert states["s"]["lag"]["rows"] == 0


def test_a_topic_that_is_made_again_fails_alone(served: Served, kafka: KafkaBroker, tmp_path: Path) -> None:
    feeder = Feeder(kafka, tmp_path)
    for topic in ("alone-s", "alone-t"):
        kafka.create_topic(topic, 2)
    made = f"CREATE STREAM s {COLUMNS} LATENESS 100 FROM 'kafka://{kafka.servers}/alone-s';\n"
    served.register(
        made + f"CREATE STREAM t {COLUMNS} LATENESS 100 FROM 'kafka://{kafka.servers}/alone-t';\n"
        "CREATE QUERY all_s AS SELECT v FROM s; CREATE QUERY all_t AS SELECT v FROM t;"
    )
    feeder.topic("s", "alone-s", 6)
    feeder.topic("t", "alone-t", 6)
    served.settle(12)
    kafka.delete_topic("alone-s")
    kafka.create_topic("alone-s", 2)
    feeder.topic("s", "alone-s", 12)  # as many as were read, and more
    served.wait(lambda: "s" in served.service.status()["stream_troubles"])
    trouble = served.service.status()["stream_troubles"]["s"]
    assert "topic 'alone-s' of stream s was deleted and made again" in trouble
    feeder.topic("t", "alone-t", 6)
    served.settle(18)
    assert (len(served.records("all_s")), len(served.records("all_t"))) == (6, 12)
    served.register("DROP QUERY all_s; DROP STREAM s;")
    served.register(made + "CREATE QUERY new_s AS SELECT v FROM s;")
    served.settle(30)  # another stream, from the beginning of the new topic
    assert len(served.records("new_s")) == 12
    assert "s" not in served.service.status()["stream_troubles"]


class Killed(BaseException):
    """The process is gone."""


def test_crashes_in_the_middle_of_hand_overs(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def feed(stream: str, *values: int) -> None:
        lines = "".join(json.dumps({"v": value, "ts": value}) + "\n" for value in values)
        (tmp_path / stream / f".{values[0]}").write_text(lines)
        (tmp_path / stream / f".{values[0]}").rename(tmp_path / stream / f"{values[0]}.json")

    def declared(stream: str) -> str:
        (tmp_path / stream).mkdir()
        return (
            f"CREATE STREAM {stream} (v BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 50 LATENESS 100"
            f" USING json OPTIONS (path '{stream}');\n"
        )

    def die(*given: object, **more: object) -> None:
        raise Killed

    def stop_instead(driver: Driver, entry: Entry) -> None:
        if entry.handover:
            driver.stop()

    moments = {
        "b": ("seine.runtime.driver.Driver._hand_over", stop_instead),  # the entry is done, and not noted
        "c": ("seine.spark.spark_host._SparkHost._start", die),  # a pipeline is to begin
        "d": ("seine.spark.carried_offsets._replace", die),  # its first entry is done, without offsets
    }
    served.register(declared("a") + "CREATE QUERY later AS SELECT y.v AS v FROM a x, a y WHERE x.v < y.v;")
    feed("a", 1, 2)
    served.settle(2)
    for number, (stream, (place, fault)) in enumerate(moments.items(), 1):
        with monkeypatch.context() as patched:
            patched.setattr(place, fault)
            served.register(declared(stream))
            feed("a", 2 * number + 1, 2 * number + 2)
            served.thread.join(60)
        served.crash()
        feed(stream, 1)
        served.settle(2 + 3 * number)
    assert served.branches == ["a", "b", "c", "d"]
    values = [json.loads(line)["row"]["v"] for line in served.records("later")]
    assert sorted(values) == [v for v in range(2, 9) for _ in range(v - 1)]
