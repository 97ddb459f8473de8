"""The same script on a standalone cluster: a master and two workers on loopback."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from seine.run_local import run_local
from tests.support.command import checkpointed_run, kill, start
from tests.support.kafka_broker import private_broker
from tests.support.kafka_topic import committed_lines, create_topic
from tests.support.progress import last_delivered, wait_for_batch
from tests.support.standalone_cluster import LOOPBACK, Cluster, running_cluster
from tests.support.stateful_script import sorted_file, sorted_records, write_story
from tests.support.topic_story import TopicStory

pytestmark = [pytest.mark.cluster, pytest.mark.long]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with running_cluster(tmp_path) as one:
        yield one


def test_answers_survive_a_killed_worker(cluster: Cluster, tmp_path: Path) -> None:
    script = write_story(tmp_path, lines=300)
    expected = sorted_records(run_local(str(script)).records)
    out, state = tmp_path / "out.jsonl", tmp_path / "state"
    words = checkpointed_run(script, 50, "--master", cluster.url, "--buckets", "2")
    process = start(*words, log=tmp_path / "command.log", SPARK_LOCAL_IP=LOOPBACK)
    deadline = time.monotonic() + 120
    while last_delivered(state) < 0 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.1)
    assert process.poll() is None, (tmp_path / "command.log").read_text()
    cluster.kill_worker()
    assert process.wait(300) == 0, (tmp_path / "command.log").read_text()
    assert "Lost executor" in (tmp_path / "spark.log").read_text()
    assert sorted_file(out) == expected != []


@pytest.mark.slow
def test_a_worker_the_broker_and_the_driver_may_die_between_topics(cluster: Cluster, tmp_path: Path) -> None:
    state, log = tmp_path / "state", tmp_path / "command.log"
    environment = {"SPARK_LOCAL_IP": LOOPBACK}

    def wait_for_another(process: subprocess.Popen[bytes]) -> None:
        before = last_delivered(state)
        wait_for_batch(state, before, process, 180.0)
        assert process.poll() is None and last_delivered(state) != before, log.read_text()

    with private_broker() as broker:
        create_topic(broker.servers, "alerts", 2)
        sinks = f"CREATE SINK told FROM pairs, counts INTO 'kafka://{broker.servers}/alerts';"
        story = TopicStory(tmp_path, broker.servers, 1_500, sinks=sinks)
        words = checkpointed_run(story.script, 20, "--master", cluster.url, "--buckets", "2")
        process = start(*words, log=log, **environment)
        wait_for_another(process)
        cluster.restart_worker()
        wait_for_another(process)
        broker.kill()
        time.sleep(1.0)
        broker.start()
        wait_for_another(process)
        kill(process)
        words = checkpointed_run(story.script, 100_000, "--master", cluster.url, "--buckets", "2")
        process = start(*words, log=log, **environment)
        assert process.wait(300) == 0, log.read_text()
        sent = [json.loads(line) for line in committed_lines(broker.servers, "alerts", 2)]

    assert "Lost executor" in (tmp_path / "spark.log").read_text()
    assert sorted_records(sent) == story.expected != []
    assert sorted_file(tmp_path / "out.jsonl") == story.expected
