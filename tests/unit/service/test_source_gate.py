"""What a service lets Spark read: formats and options by name, secrets by reference, nothing of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seine.algebra.definitions import StreamDef
from seine.errors import SeineError
from seine.intake.spark_feed import SourceBranch
from seine.runtime.option_secrets import OptionSecrets
from seine.service.folder import ServiceFolder
from seine.service.service import Service, ServiceOptions
from tests.support.everywhere import EVERYWHERE

STREAM = "CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts {source};"
KAFKA = "USING kafka OPTIONS (subscribe 'x', kafka.bootstrap.servers 'h:9092'{more})"


@pytest.fixture
def service(tmp_path: Path) -> Service:
    secrets = OptionSecrets({"JAAS": "password of the broker"}, environment=False)
    service = Service(
        ServiceFolder(str(tmp_path / "state")), ServiceOptions(secrets=secrets, reach=EVERYWHERE)
    )
    looked: list[StreamDef] = []
    service.reading.door.lend(looked.append)
    return service


def register(service: Service, source: str) -> None:
    service.registrar.register(STREAM.format(source=source), file="x.sql", folder=service.folder.path + "/..")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (
            KAFKA.format(more=", kafka.metric.reporters 'evil.Class'"),
            "takes no option",
        ),
        (KAFKA.format(more=", kafka.sasl.jaas.config 'x ${JAAS}'"), "a secret"),
        (KAFKA.format(more=", kafka.sasl.jaas.config '${HOME}'"), "needs ${HOME}"),
        (KAFKA.format(more=", kafka.client.id '${JAAS}'"), "not for secrets"),
        (KAFKA.format(more=", kafka.client.id 'http://me:word@host/'"), "a user or a password"),
        ("USING text OPTIONS (path 's3a://me:word@bucket/x')", "a user or a password"),
        ("USING json OPTIONS (path 'state/pipeline')", "folder of the service"),
        ("USING jdbc OPTIONS (url 'x')", "does not read USING jdbc"),
    ],
)
def test_what_is_not_let_in(service: Service, source: str, words: str) -> None:
    with pytest.raises(SeineError) as refusal:
        register(service, source)
    assert words in refusal.value.message
    assert "evil.Class" not in str(refusal.value) and ":word" not in str(refusal.value)
    assert not service.registrar.view.declared.streams
    service.close()


def test_a_stream_is_true_first_and_then_has_a_branch(service: Service) -> None:
    register(service, KAFKA.format(more=", kafka.sasl.jaas.config '${JAAS}'"))
    assert service.driver._feed()
    last = service.deployment.journal.last()
    assert last is not None and last.handover and last.branches == (SourceBranch("s", 0),)
    assert not service.driver._feed(), "the next pipeline is paced"
    answer = service.streams()[0]
    assert (answer["position"]["offsets"], answer["lag"]["rows"]) == (None, None)
    with pytest.raises(SeineError, match="retains nothing"):
        service.registrar.register(
            "CREATE QUERY q WITH (history = 'retained') AS SELECT a FROM s;", file="x.sql", folder="/"
        )
    for path in Path(service.folder.path).rglob("*"):
        assert not path.is_file() or b"password of the broker" not in path.read_bytes(), path
    assert "password" not in json.dumps([service.status(), service.streams()])
    service.close()
