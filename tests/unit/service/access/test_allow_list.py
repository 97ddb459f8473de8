"""What a service may read and write: nothing outside the folders and hosts that are named."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from seine.algebra.definitions import SinkDef
from seine.errors import SeineError
from seine.run_local import LocalHost
from seine.service.access.allow_list import AllowList
from seine.service.folder import ServiceFolder
from seine.service.service import Service, ServiceOptions
from seine.service.tail import read_records

STREAM = "CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts {0};"
RELATION = "CREATE RELATION r (a BIGINT) {0};"
QUERY = "CREATE QUERY q AS SELECT a FROM s;"
SINK = QUERY + "CREATE SINK k FROM q INTO {0};"
LINE = '{"a": 1, "ts": 1}\n'


class Place:
    """A service, a folder `allowed` beside it, and a file `secret` outside."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.allowed = folder, folder / "allowed"
        self.allowed.mkdir()
        (self.allowed / "s.jsonl").write_text(LINE)
        (folder / "secret.jsonl").write_text('{"a": 666, "ts": 1}\n')
        (folder / "outside").mkdir()
        (folder / "outside" / "x.jsonl").write_text('{"a": 666, "ts": 1}\n')
        self.reach = AllowList(
            (str(self.allowed),), ("db.lan",), (str(self.allowed),), ("hook.lan", "*.brokers:9092")
        )
        self.open(self.reach)

    def open(self, reach: AllowList) -> None:
        options = ServiceOptions(depth=1, reach=reach)
        self.service = Service(ServiceFolder(str(self.folder / "state")), options)
        self.service.reading.door.lend(lambda stream: None)

    def register(self, text: str) -> Any:
        return self.service.registrar.register(text, file="x.sql", folder=str(self.allowed))

    def rows(self) -> list[int]:
        host = LocalHost(self.service.deployment)
        while self.service.driver.run_some(host.run):
            pass
        page = read_records(self.service.sink.index, "q", 0)
        return sorted(json.loads(line)["row"]["a"] for line in page.lines.splitlines())


@pytest.fixture
def place(tmp_path: Path) -> Any:
    place = Place(tmp_path)
    yield place
    place.service.close()


PATHS = [
    "../secret.jsonl",
    "{folder}/secret.jsonl",
    "link.jsonl",
    "linked/x.jsonl",
    "linked",
    "linked/*.jsonl",
    "*",
    "*/x.jsonl",
    "../*.jsonl",
    "{folder}/*/x.jsonl",
    "[l]inked/x.jsonl",
    "../allowed/../secret.jsonl",
    "{folder}/allowed/../secret.jsonl",
    "../allowed2/x.jsonl",
    "/etc/passwd",
    "/proc/self/environ",
    "//etc/passwd",
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("declare", [STREAM, RELATION])
def test_paths_that_lead_out(place: Place, path: str, declare: str) -> None:
    (place.allowed / "link.jsonl").symlink_to(place.folder / "secret.jsonl")
    (place.allowed / "linked").symlink_to(place.folder / "outside")
    (place.folder / "allowed2").symlink_to(place.folder / "outside")
    with pytest.raises(SeineError, match="would read outside the folders that it may read"):
        place.register(declare.format(f"FROM '{path.format(folder=place.folder)}'"))
    assert not place.service.registrar.view.declared.tables


@pytest.mark.parametrize(
    "path",
    [
        *("{folder}/secret.jsonl", "file://{folder}/secret.jsonl", "file://{folder}/outside"),
        *("file:///etc", "FILE:///etc", "/etc", "../outside", "linked", "../*"),
        *("s3a://bucket/x", "hdfs://name/x", "http://10.0.0.1/x"),
        *("{folder}/allowed/{{a,../../outside}}/x", "file://{folder}/allowed/../outside", "a\\\\b"),
        *("file://{folder}/allowed?", "file://{folder}/allowed#2"),
    ],
)
@pytest.mark.parametrize("format_", ["text", "delta"])
def test_paths_that_spark_would_read(place: Place, path: str, format_: str) -> None:
    (place.allowed / "linked").symlink_to(place.folder / "outside")
    source = f"USING {format_} OPTIONS (path '{path.format(folder=place.folder)}')"
    with pytest.raises(SeineError, match=r"outside the folders|which is not allowed|has no (braces|\?)"):
        place.register(STREAM.format(source))
    assert not place.service.registrar.view.declared.streams


@pytest.mark.parametrize("path", ["file:/etc/passwd", "FILE:/etc", "a:b", "file:../x"])
def test_what_is_no_address_is_a_path_below_the_script(place: Place, path: str) -> None:
    """Such a path begins with a slash when Spark is given it: no part of it is taken for a scheme."""
    place.register(STREAM.format(f"USING text OPTIONS (path '{path}')"))
    reader = place.service.registrar.view.declared.streams["s"].reader
    assert reader is not None and (reader.option("path") or "").startswith(f"{place.allowed}/")


@pytest.mark.parametrize(
    "address", ["https://evil.lan/token", "http://db.lan@evil.lan/", "https://db.lan.evil.lan"]
)
def test_tokens_come_from_hosts_that_are_named(place: Place, address: str) -> None:
    tokens = "Kafka.SASL.oauthbearer.token.endpoint.url"  # options are the same in any case
    source = "USING kafka OPTIONS (subscribe 'x', kafka.bootstrap.servers 'db.lan:9092', '{}' '{}')"
    with pytest.raises(SeineError, match=r"would read from .*evil\.lan, which is not|in an address"):
        place.register(STREAM.format(source.format(tokens, address)))
    place.register(STREAM.format(source.format(tokens, "https://db.lan/token")))


@pytest.mark.parametrize(
    "source",
    [
        "FROM 'sqlite:///{folder}/other.db' WITH (table = 'r')",
        "FROM 'sqlite:////etc/passwd' WITH (table = 'r')",
        "FROM 'sqlite:///../other.db' WITH (table = 'r')",
        "FROM 'sqlite:///file:{folder}/other.db?uri=true' WITH (table = 'r')",
        "FROM 'sqlite://' WITH (table = 'r')",
        "FROM 'postgresql://other.lan/x' WITH (table = 'r')",
        "FROM 'postgresql://db.lan/x?host=other.lan' WITH (table = 'r')",
        "FROM 'postgresql://db.lan,other.lan/x' WITH (table = 'r')",
        "FROM 'postgresql:///x?host=/run/postgresql' WITH (table = 'r')",
        "FROM 'postgresql:///x' WITH (table = 'r')",
        "FROM 'postgresql://db.lan/x?service=other' WITH (table = 'r')",
        "FROM 'postgresql://db.lan#@other.lan/x' WITH (table = 'r')",
        "FROM 'postgresql://db.lan?@other.lan/x' WITH (table = 'r')",
        "FROM 'postgresql://db.lan/@other.lan/x' WITH (table = 'r')",
        "FROM 'postgresql://u:db.lan/@other.lan/x' WITH (table = 'r')",
        "FROM 'postgresql://db.lan/x?host=other.lan&host=db.lan' WITH (table = 'r')",
    ],
)
def test_databases_that_are_not_named(place: Place, source: str) -> None:
    sqlite3.connect(place.folder / "other.db").execute("CREATE TABLE r (a INTEGER)").connection.close()
    with pytest.raises(
        SeineError, match=r"outside the folders|not allowed|sqlite:///file|takes no parameter|no address"
    ):
        place.register(RELATION.format(source.format(folder=place.folder)))


@pytest.mark.parametrize(
    "target",
    [
        *("'../out'", "'{folder}/out'", "'linked'", "'linked/new'", "'/etc/new'", "'../allowed/../out'"),
        "'https://other.lan/x' WITH (secret = '${{S}}')",
        "'https://hook.lan.evil.org/x' WITH (secret = '${{S}}')",
        "'kafka://b1.brokers:9092,evil:9092/t'",
        "'kafka://b1.brokers:9093/t'",
        "'kafka://brokers:9092/t'",
        "'postgresql+psycopg://db.lan/x' WITH (table = 't')",
    ],
)
def test_targets_that_are_not_named(place: Place, target: str) -> None:
    (place.allowed / "linked").symlink_to(place.folder / "outside")
    place.register(STREAM.format("FROM 's.jsonl'"))
    with pytest.raises(SeineError, match=r"outside the folders that it may write to|which is not allowed"):
        place.register(SINK.format(target.format(folder=place.folder)))
    assert not place.service.registrar.view.registered


def test_what_is_named_is_read_and_written(place: Place) -> None:
    sqlite3.connect(place.allowed / "r.db").execute("CREATE TABLE r (a INTEGER)").connection.close()
    place.register(STREAM.format("FROM '*.jsonl'"))
    place.register(RELATION.format(f"FROM 'sqlite:///{place.allowed}/r.db' WITH (table = 'r')"))
    place.register(SINK.format("'out'"))
    assert place.rows() == [1]


def test_its_own_folder_is_read_without_a_word(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.service.close()
    place.open(AllowList())
    try:
        with pytest.raises(SeineError, match="outside the folders"):
            place.register(STREAM.format("FROM 's.jsonl'"))
        with pytest.raises(SeineError, match="outside the folders"):
            place.register(STREAM.format("FROM '../state/catalog.db'"))
        (tmp_path / "state" / "input" / "s.jsonl").write_text(LINE)
        place.register(STREAM.format("FROM '../state/input/s.jsonl'") + SINK.format("'../state/output/q'"))
        place.register("CREATE STREAM p (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'push:';")
        place.service.push("p", LINE.encode(), None)
        place.register("CREATE QUERY q2 AS SELECT a FROM p;")
        assert place.rows() == [1]
        assert [one.arrivals for one in place.service.stream_states()] == [1, 1]
    finally:
        place.service.close()


def test_a_link_that_comes_later_leads_nowhere(place: Place) -> None:
    place.register(STREAM.format("FROM '*.jsonl'") + QUERY)
    (place.allowed / "link.jsonl").symlink_to(place.folder / "secret.jsonl")
    os.replace(place.folder / "outside" / "x.jsonl", place.folder / "outside" / "y.jsonl")
    (place.allowed / "t.jsonl").write_text('{"a": 2, "ts": 1}\n')
    assert place.rows() == [1, 2]
    (place.allowed / "s.jsonl").unlink()
    (place.allowed / "s.jsonl").symlink_to(place.folder / "secret.jsonl")
    assert place.rows() == [1, 2]


def test_a_service_does_not_begin_beyond_its_reach(place: Place) -> None:
    place.register(STREAM.format("FROM 's.jsonl'"))
    place.service.close()
    with pytest.raises(SeineError, match=r"stream s would read outside .* it was allowed before"):
        place.open(AllowList())
    place.open(place.reach)


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("postgresql://other.org%2C.lan/x", "no address of a database"),  # two hosts to the client
        ("postgresql://%2Ftmp%2F.lan/x", "no address of a database"),  # a folder with a socket
        ("postgresql://db.lan:5432/x?port=22", "would write to db.lan, which is not allowed"),
        ("postgresql://db.lan:5432/x?port=5432,22", "would write to db.lan, which is not allowed"),
    ],
)
def test_hosts_are_judged_as_the_client_of_the_database_reads_them(address: str, reason: str) -> None:
    allowed = AllowList(sink_hosts=("*.lan:5432",) if "5432" in address else ("*.lan",))
    with pytest.raises(SeineError, match=reason):
        allowed.refuse_sink(SinkDef("s", ("q",), address))
    allowed.refuse_sink(SinkDef("s", ("q",), "postgresql://db.lan:5432/x?port=5432"))
