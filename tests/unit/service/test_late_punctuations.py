"""A join that is registered late knows what was promised before it came."""

from __future__ import annotations

import json
from pathlib import Path

from seine.network.plan.strategy import CONFIGURATIONS
from seine.run_local import LocalHost
from seine.service.folder import ServiceFolder
from seine.service.service import Service, ServiceOptions
from tests.support.everywhere import EVERYWHERE

STREAMS = "".join(
    f"CREATE STREAM {name} (k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (k)"
    f" FROM '{name}.jsonl';"
    for name in ("s", "t")
)
LINKED = "".join(
    f"CREATE STREAM {name} (k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (k)"
    f" PUNCTUATED ON (v) FROM '{name}.jsonl';"
    for name in ("s", "t", "u")
)
CHAIN = "CREATE QUERY {name} AS SELECT s.ts AS a, t.ts AS b, u.ts AS c FROM s, t, u WHERE {condition};"
JOIN = "CREATE QUERY {name} WITH (unbounded = true) AS SELECT s.v AS a, t.v AS b FROM s, t WHERE {condition};"


class Pipeline:
    """A service that is run by hand."""

    def __init__(self, folder: Path, streams: str = STREAMS) -> None:
        self.folder = folder
        for name in ("s", "t", "u"):
            (folder / f"{name}.jsonl").touch()
        self.service = Service(
            ServiceFolder(str(folder / "state")), ServiceOptions(buckets=2, depth=2, reach=EVERYWHERE)
        )
        self.host = LocalHost(self.service.deployment)
        self.register(streams)

    def register(self, text: str) -> None:
        self.service.registrar.register(text, file="x.sql", folder=str(self.folder))

    def feed(self, stream: str, *lines: dict[str, object]) -> None:
        with (self.folder / f"{stream}.jsonl").open("a") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)

    def run(self) -> None:
        while self.service.driver.run_some(self.host.run):
            pass

    def state(self, query: str) -> dict[str, int]:
        held: dict[str, int] = self.service.query(query)["state_rows"]
        return held


def closed(key: int, ts: int) -> dict[str, object]:
    return {"@punctuate": {"k": key}, "ts": ts}


def row(key: int, ts: int) -> dict[str, object]:
    return {"k": key, "v": 10 * key, "ts": ts}


def test_what_was_punctuated_before_a_join_came_counts_for_it(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path)
    pipeline.register(JOIN.format(name="old", condition="s.v = t.v"))  # of promises it knows nothing
    pipeline.feed("t", *(closed(key, key) for key in range(20)))
    pipeline.feed("s", *(closed(key, key) for key in range(10)))
    pipeline.run()
    pipeline.register(JOIN.format(name="late", condition="s.k = t.k"))
    pipeline.feed("s", row(12, 30), row(50, 30))
    pipeline.run()
    # Of s the row that nobody has closed; of t the promises that s has not made too.
    assert pipeline.state("late") == {"s": 1, "t": 10} and pipeline.state("old") == {"s": 2, "t": 0}
    pipeline.register(JOIN.format(name="later", condition="s.k = t.k AND s.v < t.v"))
    pipeline.run()
    assert pipeline.state("later") == pipeline.state("late") == {"s": 1, "t": 10}
    pipeline.feed("s", *(closed(key, 31) for key in range(10, 60)))
    pipeline.feed("t", *(closed(key, 31) for key in range(20, 60)))
    pipeline.run()
    assert pipeline.state("late") == {"s": 0, "t": 0}
    pipeline.service.close()


def test_what_was_punctuated_before_a_tree_of_joins_came_goes_up_in_it(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path, LINKED)
    pipeline.service.registrar.network.strategy = CONFIGURATIONS["two-by-two"]
    chain = "s.v = t.k AND t.v = u.k"
    pipeline.register(CHAIN.format(name="old", condition=chain))
    for name in ("s", "t", "u"):
        both = [{"@punctuate": {column: key}, "ts": key} for key in range(10) for column in "kv"]
        pipeline.feed(name, *both)
    pipeline.run()
    pipeline.register(CHAIN.format(name="late", condition=f"{chain} AND s.k = u.v"))
    pipeline.feed("u", {"k": 20, "v": 60, "ts": 30})
    for key in (20, 21, 22):
        pipeline.feed("s", {"k": 60, "v": key, "ts": 30})
        pipeline.feed("t", {"k": key, "v": 20, "ts": 30})
    pipeline.run()
    held = pipeline.state("late")
    assert held["s, t"] == 3 and held["u"] == 1 and pipeline.state("old")["s, t"] == 3
    for name in ("s", "t", "u"):
        both = [{"@punctuate": {column: key}, "ts": 31} for key in range(10, 70) for column in "kv"]
        pipeline.feed(name, *both)
    pipeline.run()
    assert not any(pipeline.state("late").values()) and not any(pipeline.state("old").values())
    pipeline.service.close()


def test_rows_that_no_partner_can_equal_twice_go_with_its_punctuation(tmp_path: Path) -> None:
    """s.k = t.k AND s.v = t.k: a row of s with two values waits for a tuple of t that has both."""
    pipeline = Pipeline(tmp_path)
    pipeline.register(JOIN.format(name="twice", condition="s.k = t.k AND s.v = t.k"))
    pipeline.feed("s", {"k": 1, "v": 2, "ts": 1}, {"k": 3, "v": 3, "ts": 1}, {"k": 4, "v": 4, "ts": 1})
    pipeline.feed("t", {"k": 3, "v": 0, "ts": 1})
    pipeline.run()
    assert pipeline.state("twice") == {"s": 3, "t": 1}
    pipeline.feed("t", closed(1, 2), closed(3, 2))
    pipeline.feed("s", closed(3, 2))
    pipeline.run()
    assert pipeline.state("twice")["s"] == 1
    pipeline.service.close()
