"""Topics: a consumer of committed records sees every record once, in order, whatever is killed and when."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from seine.errors import SeineError
from seine.runtime.option_secrets import OptionSecrets
from seine.sinks import kafka_client, kafka_target
from seine.sinks.delivery import Delivery, UndeliveredFiles
from seine.sinks.kafka_target import KafkaTarget
from seine.sinks.sink_progress import SinkProgress, progress_of, save_progress
from seine.storage.local import LocalStore
from tests.support.kafka_broker import kafka_servers
from tests.support.kafka_topic import committed_lines, committed_records, create_topic, delete_topic
from tests.support.service_rig import Rig, rig_of_two_streams
from tests.support.sink_process import deliver_through_kills
from tests.support.sink_rig import GrowingResults, stored_sink, wait_for

READ = ("q1", "q2")


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with kafka_servers() as address:
        yield address


def test_records_are_once_and_in_order_through_sigkill(servers: str, tmp_path: Path) -> None:
    results, random = GrowingResults(tmp_path), Random(5)
    for _ in range(12):
        results.add(random, 12)
    create_topic(servers, "killed")
    kills = deliver_through_kills(tmp_path, f"kafka://{servers}/killed", {}, kills=6, seed=100)

    assert committed_lines(servers, "killed") == results.lines(READ)
    assert len(results.lines(READ)) > 20
    assert kills == 6


def test_a_client_that_hangs_cannot_commit_once_another_has_begun(servers: str, tmp_path: Path) -> None:
    results, path = GrowingResults(tmp_path), progress_of(LocalStore(str(tmp_path)), "s")
    results.add(Random(1), 30)
    create_topic(servers, "fenced")
    sink = stored_sink(f"kafka://{servers}/fenced")
    hung, other = KafkaTarget(sink, OptionSecrets()), KafkaTarget(sink, OptionSecrets())
    before = Delivery(sink, results.index, path, UndeliveredFiles(str(tmp_path / "undelivered")), hung)
    before.begin()
    after = Delivery(sink, results.index, path, UndeliveredFiles(str(tmp_path / "undelivered")), other)
    after.begin()
    with pytest.raises(SeineError, match="fenced"):
        before.step()
    after = Delivery(
        sink, results.index, path, UndeliveredFiles(str(tmp_path / "undelivered")), other
    )  # with the piece that the other has begun
    while after.step():
        pass
    hung.close()
    other.close()

    assert committed_lines(servers, "fenced") == results.lines(READ) != []


def test_a_broker_that_has_forgotten_a_piece_that_was_begun_is_not_guessed_at(
    servers: str, tmp_path: Path
) -> None:
    create_topic(servers, "forgotten")
    target = KafkaTarget(stored_sink(f"kafka://{servers}/forgotten"), OptionSecrets())
    with pytest.raises(SeineError, match="topic forgotten has forgotten how far sink s has come"):
        target.begin(SinkProgress(0, pending=80))
    target.close()
    target.begin(SinkProgress(0))
    target.close()
    target.begin(SinkProgress(0, pending=80))  # now it knows that nothing is there
    target.close()

    assert committed_lines(servers, "forgotten") == []


def test_a_topic_that_was_deleted_and_made_again_gets_what_follows(servers: str, tmp_path: Path) -> None:
    results, path = GrowingResults(tmp_path), progress_of(LocalStore(str(tmp_path)), "s")
    results.add(Random(1), 30)
    create_topic(servers, "again")
    sink = stored_sink(f"kafka://{servers}/again")
    for _ in range(2):
        target = KafkaTarget(sink, OptionSecrets())
        delivery = Delivery(
            sink, results.index, path, UndeliveredFiles(str(tmp_path / "undelivered")), target
        )
        delivery.begin()
        while delivery.step():
            pass
        target.close()
        last = committed_lines(servers, "again")
        delete_topic(servers, "again")
        create_topic(servers, "again")
        before = results.index.settled
        results.add(Random(2), 30)

    assert last == [line for line in results.lines(READ) if line in last] != []
    assert before > 0 and results.lines(READ)[0] not in last


def test_a_sink_without_records_commits_its_offset_again(
    servers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results, path = GrowingResults(tmp_path), progress_of(LocalStore(str(tmp_path)), "s")
    results.add(Random(1), 30)
    create_topic(servers, "quiet")
    target = KafkaTarget(stored_sink(f"kafka://{servers}/quiet"), OptionSecrets())
    delivery = Delivery(
        stored_sink(f"kafka://{servers}/quiet"),
        results.index,
        path,
        UndeliveredFiles(str(tmp_path / "undelivered")),
        target,
    )
    delivery.begin()
    while delivery.step():
        pass
    sent: list[int] = []
    real = kafka_client.KafkaClient.send

    def send(client: kafka_client.KafkaClient, topic: str, messages: list[dict[str, bytes]], at: int) -> None:
        sent.append(at)
        real(client, topic, messages, at)

    monkeypatch.setattr(kafka_client.KafkaClient, "send", send)
    assert not delivery.step()
    assert sent == []
    monkeypatch.setattr(kafka_target, "REFRESH_SECONDS", 0.0)
    assert not delivery.step()
    target.close()

    assert sent == [delivery.progress.position]
    assert committed_lines(servers, "quiet") == results.lines(READ) != []


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    yield from rig_of_two_streams(tmp_path, {"SINK_WORD": "correct horse"})


def test_keys_are_columns_or_the_name_of_the_query(servers: str, rig: Rig) -> None:
    create_topic(servers, "keys", 3)
    create_topic(servers, "names", 3)
    rig.register(
        "CREATE QUERY \"q, '1'\" AS SELECT a AS Item, ts FROM s;"
        " CREATE QUERY big AS SELECT a AS Item, ts FROM s;"
        f" CREATE SINK one FROM big INTO 'kafka://{servers}/keys' WITH (key = 'ts, item');"
        f" CREATE SINK two FROM \"q, '1'\" INTO 'kafka://{servers}/names';"
    )
    rig.feed(2, 3, 2)
    rig.run()
    wait_for(lambda: [one["records"] for one in rig.service.sinks()] == [3, 3])
    keyed = committed_records(servers, "keys", 3)
    assert sorted(bytes(one.key()) for one in keyed) == [
        b'{"ts": 1, "Item": 2}',
        b'{"ts": 1, "Item": 2}',
        b'{"ts": 1, "Item": 3}',
    ]
    assert [json.loads(bytes(one.key())) for one in keyed] == [
        {name: json.loads(bytes(one.value()))["row"][name] for name in ("ts", "Item")} for one in keyed
    ]
    assert len({one.partition() for one in keyed if bytes(one.key()) == b'{"ts": 1, "Item": 2}'}) == 1
    assert {bytes(one.key()) for one in committed_records(servers, "names", 3)} == {b"q, '1'"}


def test_a_sink_goes_on_after_a_kill_of_the_service(servers: str, rig: Rig) -> None:
    create_topic(servers, "service")
    rig.register(
        f"CREATE QUERY q AS SELECT a FROM s; CREATE SINK out FROM q INTO 'kafka://{servers}/service';"
    )
    for value in range(2, 5):
        rig.feed(value)
        rig.run()
        wait_for(lambda: rig.service.sinks()[0]["records"] == value - 1)  # noqa: B023 - it is waited for here
        rig.crash()
    values = [json.loads(line)["row"]["a"] for line in committed_lines(servers, "service")]

    assert values == [2, 3, 4]


def test_a_broker_that_names_others_is_sent_nothing_until_these_are_allowed(servers: str, rig: Rig) -> None:
    """The broker of these tests says that it is 127.0.0.1, however it is asked."""
    create_topic(servers, "elsewhere")
    port = servers.rpartition(":")[2]
    rig.reach = replace(rig.reach, sink_hosts=("localhost",))
    rig.crash()
    rig.register(
        f"CREATE QUERY q AS SELECT a FROM s; CREATE SINK out FROM q INTO 'kafka://localhost:{port}/elsewhere';"
    )
    rig.feed(7)
    rig.run()
    refused = f"a broker there names {servers} as another, which is not allowed"
    wait_for(lambda: refused in str(rig.service.sinks()[0]["reason"]))
    assert committed_lines(servers, "elsewhere") == []
    rig.reach = replace(rig.reach, sink_hosts=("localhost", "127.0.0.1"))
    rig.crash()
    wait_for(lambda: rig.service.sinks()[0]["records"] == 1)
    (line,) = committed_lines(servers, "elsewhere")
    assert json.loads(line)["row"] == {"a": 7}


def test_a_broker_that_is_down_is_told_without_its_secret(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(kafka_client, "SECONDS", 0.5)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))  # nobody listens here
        port = probe.getsockname()[1]
        rig.register(
            "CREATE QUERY q AS SELECT a FROM s;"
            f" CREATE SINK out FROM q INTO 'kafka://127.0.0.1:{port}/t' WITH"
            " (kafka.security.protocol = 'SASL_PLAINTEXT', kafka.sasl.mechanism = 'PLAIN',"
            " kafka.sasl.username = 'me', kafka.sasl.password = '${SINK_WORD}');"
        )
        wait_for(lambda: rig.service.sinks()[0]["state"] == "retrying")
        wait_for(lambda: "refused" in str(rig.service.sinks()[0]["reason"]))
    kept = b"".join(path.read_bytes() for path in (rig.folder / "state").rglob("*") if path.is_file())

    assert b"${SINK_WORD}" in kept
    assert b"correct horse" not in kept
    assert "correct horse" not in json.dumps(rig.service.status()) + caplog.text
    assert "a sink cannot deliver" in caplog.text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("INTO 'kafka://host:9092/'", "no URL of a topic"),
        ("INTO 'kafka://me:horse@host:9092/t'", "no user, password"),
        ("INTO 'kafka://host:9092/t' FORMAT PARQUET", "FORMAT PARQUET is for folders"),
        ("INTO 'kafka://host:9092/t' WITH (kafka.sasl.password = 'horse')", "has a secret in the script"),
        ("INTO 'kafka://host:9092/t' WITH (kafka.sasl.password = '${NO_SUCH_WORD}')", "of sink s1 needs"),
        ("INTO 'kafka://host:9092/t' WITH (kafka.plugin.library.paths = 'x.so')", "Kafka has no option"),
        ("INTO 'kafka://host:9092/t' WITH (key = 'b')", "query q has no key column b"),
        ("INTO 'kafka://host:9092/t' WITH (key = 'a, A')", "key column A is named twice"),
    ],
)
def test_what_could_never_deliver_is_refused(rig: Rig, text: str, reason: str) -> None:
    rig.register("CREATE QUERY q AS SELECT a FROM s;")
    with pytest.raises(SeineError, match=reason) as refused:
        rig.register(f"CREATE SINK s1 FROM q {text};")

    assert "horse" not in str(refused.value)
    assert rig.service.sinks() == []


def test_a_missing_client_is_told_with_what_to_install(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_client, "confluent_kafka", None)
    with pytest.raises(SeineError, match="needs the package confluent-kafka") as refused:
        rig.register("CREATE QUERY q AS SELECT a FROM s; CREATE SINK s1 FROM q INTO 'kafka://host:9092/t';")

    assert refused.value.hint == "pip install 'seine-streams[kafka]'"


def test_the_position_that_a_file_says_is_not_trusted_against_the_broker(
    servers: str, tmp_path: Path
) -> None:
    """A commit whose answer was lost: the file has the piece as begun, the broker has it."""
    results, path = GrowingResults(tmp_path), progress_of(LocalStore(str(tmp_path)), "s")
    results.add(Random(1), 30)
    create_topic(servers, "lost")
    sink = stored_sink(f"kafka://{servers}/lost")
    for _ in range(2):
        save_progress(path, SinkProgress(0, pending=results.index.settled))
        target = KafkaTarget(sink, OptionSecrets())
        if not committed_lines(servers, "lost"):
            target.begin(SinkProgress(0))
        delivery = Delivery(
            sink, results.index, path, UndeliveredFiles(str(tmp_path / "undelivered")), target
        )
        delivery.begin()
        while delivery.step():
            pass
        target.close()

    assert committed_lines(servers, "lost") == results.lines(READ) != []
