"""The same rows in topics and in files, for a join and an aggregate: what topics must answer."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from seine.run_local import run_local
from tests.support.kafka_topic import create_topic
from tests.support.stateful_script import sorted_records

_DECLARATIONS = """\
CREATE STREAM bid (item BIGINT, price BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 20 LATENESS 3 {bid};
CREATE STREAM sale (item BIGINT, shop STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 20 {sale};
"""
_QUERIES = """\
CREATE QUERY pairs AS SELECT b.price AS price, s.shop AS shop, s.ts AS ts FROM bid b, sale s
  WHERE b.item = s.item;
CREATE QUERY counts AS SELECT item, COUNT(*) AS n, SUM(price) AS total FROM bid GROUP BY item;
"""


class TopicStory:
    """Two topics of two partitions each, with as many records in all as `rows` says, and the script.

    `sinks` are more of its statements, over the queries `pairs` and `counts`.
    """

    def __init__(self, folder: Path, servers: str, rows: int, seed: int = 5, sinks: str = "") -> None:
        rng = random.Random(seed)
        bids = [_bid(rng, i) for i in range(rows * 2 // 3)]
        sales = [_sale(rng, i) for i in range(rows // 3)]
        sources, topics = {}, {}
        for name, made in (("bid", bids), ("sale", sales)):
            lines = [json.dumps(row).encode() for row in made]
            (folder / f"{name}.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))
            sources[name] = f"FROM '{name}.jsonl'"
            # the slowest partition is waited for, so that nobody is late however micro-batches are cut
            topics[name] = f"FROM 'kafka://{servers}/{name}'"
            create_topic(servers, name, 2)
            _send(rng, servers, name, lines)
        files = folder / "files.sql"
        files.write_text(_DECLARATIONS.format(**sources) + _QUERIES, encoding="utf-8")
        undisturbed = run_local(str(files))
        assert undisturbed.dead == []
        self.expected = sorted_records(undisturbed.records)
        self.expected_counts = net_rows(undisturbed.records, "counts")
        self.script = folder / "topics.sql"
        self.script.write_text(_DECLARATIONS.format(**topics) + _QUERIES + sinks, encoding="utf-8")


def net_rows(records: Iterable[dict[str, Any]], query: str) -> Counter[tuple[Any, ...]]:
    """The rows that the changelog of a query comes to."""
    net: Counter[tuple[Any, ...]] = Counter()
    for record in records:
        if record["query"] == query:
            net[tuple(record["row"].values())] += 1 if record["op"] == "+" else -1
    return +net


def _bid(rng: random.Random, number: int) -> dict[str, Any]:
    time = max(0, number // 4 - rng.randrange(3))
    return {"item": rng.randrange(6), "price": rng.randrange(100), "ts": time}


def _sale(rng: random.Random, number: int) -> dict[str, Any]:
    return {"item": rng.randrange(6), "shop": rng.choice("abc"), "ts": number // 2}


def _send(rng: random.Random, servers: str, topic: str, lines: list[bytes]) -> None:
    producer = Producer({"bootstrap.servers": servers})
    for line in lines:
        producer.produce(topic, line, partition=rng.randrange(2))
    assert producer.flush(60) == 0
