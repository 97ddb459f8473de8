"""A pipeline that reads topics, killed at any moment, goes on where it was: nothing lost or repeated."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from tests.support.command import checkpointed_run, kill, start, wait_for_change
from tests.support.kafka_broker import connector_jars, kafka_servers
from tests.support.stateful_script import sorted_file
from tests.support.topic_story import TopicStory

pytestmark = pytest.mark.spark

_ROWS_PER_KILL = 90


@pytest.mark.parametrize("kills", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_output_is_complete_after_many_kills(tmp_path: Path, kills: int) -> None:
    rng = random.Random(kills)
    log, state = tmp_path / "command.log", tmp_path / "state" / "output.json"
    environment = {"PYSPARK_SUBMIT_ARGS": f"--jars {connector_jars()} pyspark-shell"}
    with kafka_servers() as servers:
        story = TopicStory(tmp_path, servers, _ROWS_PER_KILL * kills)
        words = checkpointed_run(story.script, 10, "--master", "local[2]", "--buckets", "2")
        moved = 0
        for _ in range(kills):
            before = state.read_text() if state.exists() else ""
            process = start(*words, log=log, **environment)
            wait_for_change(state, before, process)
            time.sleep(rng.random() * 0.5)
            assert process.poll() is None, "it finished before it could be killed: give it more input"
            kill(process)
            moved += (state.read_text() if state.exists() else "") != before
        assert moved == kills
        words = checkpointed_run(story.script, 100_000, "--master", "local[2]", "--buckets", "2")
        final = start(*words, log=log, **environment)
        assert final.wait(300) == 0, log.read_text()
    assert sorted_file(tmp_path / "out.jsonl") == story.expected != []
