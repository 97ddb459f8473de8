"""Stories of a service: queries come and go, lines come in, and each query is compared with itself alone.

The service is run by hand. The fresh one gets only the query, and only the lines that arrived
after its registration, cut into other micro-batches.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seine.network.plan.strategy import CONFIGURATIONS, Strategy
from seine.run_local import LocalHost
from seine.service.folder import ServiceFolder
from seine.service.service import Service, ServiceOptions
from seine.service.tail import read_records
from tests.support.everywhere import EVERYWHERE

STREAMS = {
    name: f"CREATE STREAM {name} (k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW {window}"
    f" FROM '{name}.jsonl';"
    for name, window in (("s", 8), ("t", 5))
}
RELATION = "CREATE RELATION r (k BIGINT, w BIGINT) FROM 'r.jsonl';"
END = 1000  # a line of this time at the end of every stream makes all before it final


@dataclass
class Life:
    """A query that was registered: its text, and how many lines of each stream came before it."""

    sql: str
    before: dict[str, int]
    dropped: bool = False


@dataclass
class Story:
    """A service and all that happened to it."""

    folder: Path
    strategy: Strategy = CONFIGURATIONS["all"]
    lines: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in STREAMS})
    lives: dict[str, Life] = field(default_factory=dict)
    clock: int = 1

    def __post_init__(self) -> None:
        for name in STREAMS:
            (self.folder / f"{name}.jsonl").touch()
        (self.folder / "r.jsonl").write_text("".join(f'{{"k": {k}, "w": {k * 2}}}\n' for k in range(3)))
        self.open()
        self.host = LocalHost(self.service.deployment)
        self.register(RELATION + "".join(STREAMS.values()))

    def open(self) -> None:
        options = ServiceOptions(buckets=2, depth=3, strategy=self.strategy, reach=EVERYWHERE)
        self.service = Service(ServiceFolder(str(self.folder / "state")), options)

    def register(self, text: str) -> None:
        self.service.registrar.register(text, file="x.sql", folder=str(self.folder))

    def begin(self, sql: str) -> None:
        name = f"q{len(self.lives)}"
        self.register(f"CREATE QUERY {name} AS {sql};")
        self.lives[name] = Life(sql, {stream: len(lines) for stream, lines in self.lines.items()})

    def drop(self, name: str) -> None:
        self.service.registrar.drop(name)
        self.lives[name].dropped = True

    def feed(self, stream: str, lines: list[str]) -> None:
        self.lines[stream] += lines
        with (self.folder / f"{stream}.jsonl").open("a") as file:
            file.writelines(lines)

    def run(self) -> None:
        while self.service.driver.run_some(self.host.run):
            pass

    def restart(self) -> None:
        """Close the service and open it again; the state of its tasks outlives that."""
        self.service.close()
        self.open()
        self.host._deployment = self.service.deployment

    def end(self) -> None:
        for stream in STREAMS:
            self.feed(stream, [line_of(-1, 0, END)])
        self.run()

    def records(self, name: str) -> Counter[str]:
        """What a query reported of the time before the end."""
        page = read_records(self.service.sink.index, name, 0, 1 << 30)
        parsed = [json.loads(line) for line in page.lines.splitlines()]
        return Counter(_whole(record) for record in parsed if (record["t_start"] or 0) < END)


def reported_alone(story: Story, name: str) -> Counter[str]:
    """What the query reports alone, of the lines that came after its registration."""
    life = story.lives[name]
    with tempfile.TemporaryDirectory() as folder:
        alone = Story(Path(folder))
        alone.begin(life.sql)
        for stream, lines in story.lines.items():
            alone.feed(stream, lines[life.before[stream] :])
        alone.run()
        got = alone.records("q0")
        alone.service.close()
        return got


def line_of(key: int, value: int, ts: int) -> str:
    return json.dumps({"k": key, "v": value, "ts": ts}) + "\n"


def _whole(record: dict[str, Any]) -> str:
    return json.dumps([record["op"], record["t_start"], record["t_end"], record["row"]], sort_keys=True)
