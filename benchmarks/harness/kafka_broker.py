"""A private Kafka broker of one process, from the jars that `scripts/find_kafka` fetches.

Its records survive a kill: it can be started again on its port.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seine.errors import SeineError
from seine.spark.session import require_java

_READY_SECONDS = 60.0
_CLUSTER_ID = "c2VpbmUtdGVzdC1icm9rZXI"
_JAVA = ("-Xmx400m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={folder}/data
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
message.max.bytes=33554432
log.retention.ms=-1
"""


_HINT = "run scripts/find_kafka connector, or name a folder with broker/ and connector/ in SEINE_TEST_KAFKA"


def kafka_jars() -> Path:
    """The folder with the jars of a broker; refuses where there is none."""
    given = os.environ.get("SEINE_TEST_KAFKA")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "seine"
    folders = [Path(given)] if given else sorted(cache.glob("kafka-*"))
    if not folders or not (folders[-1] / "broker").is_dir():
        raise SeineError("there is no Kafka to start here", hint=_HINT)
    return folders[-1]


def connector_jars(folder: Path) -> str:
    """The jars with which Spark reads topics, with commas between them; refuses where there are none."""
    jars = sorted(map(str, (folder / "connector").glob("*.jar")))
    if not jars:
        raise SeineError("there is no connector of Spark's to Kafka here", hint=_HINT)
    return ",".join(jars)


class BrokerProcess:
    """A broker on a free port of loopback, with its data in a folder."""

    def __init__(self, jars: Path, folder: Path, more: str = "") -> None:
        """`more` are further properties, in which `{port}` and `{controller}` are where it listens."""
        self._log, self._properties = folder / "server.txt", folder / "server.properties"
        self._command = [f"{require_java()}/bin/java", *_JAVA, "-cp", f"{jars}/broker/*"]
        self._server: subprocess.Popen[bytes] | None = None
        self._port = free_port()
        self.servers = f"127.0.0.1:{self._port}"
        text = (_PROPERTIES + more).format(port=self._port, controller=free_port(), folder=folder)
        self._properties.write_text(text, encoding="utf-8")
        words = ["kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c", str(self._properties)]
        with self._log.open("ab") as log:
            subprocess.run([*self._command, *words], stdout=log, stderr=log, check=True)

    def start(self) -> None:
        """Start it, for the first time or after a kill, and wait until it can be reached."""
        with self._log.open("ab") as log:
            words = ["kafka.Kafka", str(self._properties)]
            self._server = subprocess.Popen([*self._command, *words], stdout=log, stderr=log)
        deadline = time.monotonic() + _READY_SECONDS
        while not _answers(self._port):
            if time.monotonic() > deadline or self._server.poll() is not None:
                raise SeineError(f"the broker did not start: {self._log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.1)

    def kill(self) -> None:
        """End it at once, if it was started."""
        if self._server is not None:
            self._server.kill()
            self._server.wait()


@contextmanager
def running_broker(jars: Path, more: str = "") -> Iterator[BrokerProcess]:
    """A broker that runs as long as the context lives; `more` are properties of it."""
    folder = Path(tempfile.mkdtemp(prefix="seine-kafka-"))
    try:
        broker = BrokerProcess(jars, folder, more)
        try:
            broker.start()
            yield broker
        finally:
            broker.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
