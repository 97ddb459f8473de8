"""A service whose streams Spark reads: they come and go while it runs, and nothing is lost or read twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from seine.errors import SeineError
from seine.intake.journal import Entry
from seine.runtime.driver import Driver
from seine.service.access.principal import LOCAL
from seine.service.console.console_questions import ConsoleQuestions
from tests.support.kafka_broker import KafkaBroker
from tests.support.served_streams import COLUMNS, Feeder, Served

pytestmark = [pytest.mark.spark, pytest.mark.long]

PAIRS = "CREATE QUERY pairs AS SELECT a.v AS x, b.v AS y FROM s a, t b WHERE a.k = b.k;\n"
CHAIN = (
    "CREATE QUERY chain AS SELECT a.v AS x FROM s a, s b, s c"
    " WHERE a.k = b.k AND c.k = b.k + 1 AND a.ts < b.ts AND b.ts < c.ts;\n"
)


@pytest.fixture
def served(spark: SparkSession, tmp_path: Path) -> Iterator[Served]:
    served = Served(spark, tmp_path)
    yield served
    served.stop()


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
    console = ConsoleQuestions(served.service)
    tried = console.try_out(LOCAL, script, str(tmp_path), replace=False)
    console.close()
    assert tried.rows == {"s": 6} and tried.total == 4
    assert sorted(json.loads(bytes(one))["row"]["v"] for one in tried.records) == [2, 3, 4, 5]
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
    with pytest.raises(SeineError, match="stream x cannot be read"):
        served.register(f"CREATE STREAM x {COLUMNS} FROM 'kafka://{kafka.servers}/nowhere';")
    letters = served.service.dead_letters(0, "u", 10)["letters"]
    assert [letter["reason"] for letter in letters] and len(letters) == 1
    served.wait(lambda: _offsets(served, "s") == {"live-s": {"0": 13, "1": 11}})
    states: dict[str, Any] = {one["stream"]: one for one in served.service.streams()}
    assert states["s"]["lag"]["rows"] == 0


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
        "d": ("seine.spark.offset_log._replace", die),  # its first entry is done, without offsets
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
