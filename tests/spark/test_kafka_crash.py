"""From topics to a file, a topic and tables, killed at any moment: nothing lost or repeated anywhere."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.support.command import checkpointed_run, kill, start
from tests.support.kafka_broker import kafka_servers
from tests.support.kafka_topic import committed_lines, create_topic
from tests.support.postgres_server import postgres_server
from tests.support.progress import last_delivered, wait_for_batch
from tests.support.stateful_script import sorted_file, sorted_records
from tests.support.topic_story import TopicStory
from tests.support.warm_starts import WarmStarts

pytestmark = [pytest.mark.spark, pytest.mark.long]

_ROWS_PER_KILL = 90
_SINKS = """
CREATE SINK told FROM pairs, counts INTO 'kafka://{servers}/alerts';
CREATE SINK appended FROM pairs, counts INTO '{database}' WITH (table = 'appended');
CREATE SINK kept FROM counts INTO '{database}' WITH (table = 'kept', key = 'item');
"""


@pytest.fixture
def places() -> Iterator[tuple[str, str]]:
    """A broker and a database."""
    with ExitStack() as stack:
        yield stack.enter_context(kafka_servers()), stack.enter_context(postgres_server())


@pytest.mark.parametrize("kills", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_every_record_is_once_everywhere_after_many_kills(
    tmp_path: Path, places: tuple[str, str], kills: int
) -> None:
    servers, database = places
    rng = random.Random(kills)
    log, state = tmp_path / "command.log", tmp_path / "state"
    create_topic(servers, "alerts", 2)
    sinks = _SINKS.format(servers=servers, database=database)
    story = TopicStory(tmp_path, servers, _ROWS_PER_KILL * kills, sinks=sinks)
    words = checkpointed_run(story.script, 10, "--master", "local[2]", "--buckets", "2")
    moved = 0
    with WarmStarts("local[2]", log) as warm:
        for _ in range(kills):
            before = last_delivered(state)
            process = warm.start(*words)
            wait_for_batch(state, before, process, 300.0)
            time.sleep(rng.random() * 0.5)
            assert process.poll() is None, "it finished before it could be killed: give it more input"
            kill(process)
            moved += last_delivered(state) != before
    assert moved == kills
    words = checkpointed_run(story.script, 100_000, "--master", "local[2]", "--buckets", "2")
    final = start(*words, log=log)
    assert final.wait(300) == 0, log.read_text()

    assert sorted_file(tmp_path / "out.jsonl") == story.expected != []
    sent = [json.loads(line) for line in committed_lines(servers, "alerts", 2)]
    assert sorted_records(sent) == story.expected
    assert sorted_records(_appended(database)) == story.expected
    assert Counter(_rows(database, "SELECT item, n, total FROM kept")) == story.expected_counts != {}


def _appended(database: str) -> list[dict[str, Any]]:
    """The records of the table, as they were sent."""
    records = _rows(database, "SELECT query, op, t_start, t_end, row FROM appended")
    keys = ("query", "op", "t_start", "t_end", "row")
    return [dict(zip(keys, record, strict=True)) for record in records]


def _rows(database: str, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(database) as connection:
        return connection.execute(statement).fetchall()
