"""A service in this process whose streams Spark reads, and rows for them."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from seine.run_local import run_local
from seine.runtime.option_secrets import OptionSecrets
from seine.service.folder import ServiceFolder
from seine.service.service import Service, ServiceOptions
from seine.service.tail import read_records
from seine.spark.spark_host import Restarts, run_on_spark
from tests.support.everywhere import EVERYWHERE
from tests.support.kafka_broker import KafkaBroker
from tests.support.stateful_script import sorted_records

COLUMNS = "(k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 50"


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
