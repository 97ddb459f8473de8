"""ALTER STREAM while a service runs: running queries go on, later ones have the column, through kills."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seine.errors import SeineError
from seine.intake.retention_limit import RetentionLimit
from seine.run_local import LocalHost
from seine.service.folder import ServiceFolder
from seine.service.service import Service, ServiceOptions
from seine.service.tail import read_records
from tests.support.everywhere import EVERYWHERE
from tests.support.seeds import seeds
from tests.support.service_rig import STREAM, Rig

ADD = "ALTER STREAM s ADD COLUMN c INT;"
OLD = "CREATE QUERY old AS SELECT a FROM s;"
NEW = "CREATE QUERY new AS SELECT a, c FROM s;"


class AlteredRig(Rig):
    """A service that retains its input."""

    def open(self) -> None:
        retain = RetentionLimit(bytes=1 << 40)
        options = ServiceOptions(depth=self.depth, batch_rows=3, retain=retain, reach=EVERYWHERE)
        self.service = Service(ServiceFolder(str(self.folder / "state")), options)
        self.host = LocalHost(self.service.deployment)

    def add_lines(self, *lines: dict[str, Any]) -> None:
        with (self.folder / "s.jsonl").open("a") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[AlteredRig]:
    (tmp_path / "s.jsonl").touch()
    made = AlteredRig(tmp_path)
    made.register(STREAM)
    yield made
    made.service.close()


def pairs(rig: Rig, query: str) -> list[tuple[int, int | None]]:
    return [(row["a"], row.get("c")) for row in rig.records(query)]


def test_running_queries_go_on_and_later_ones_have_the_column(rig: AlteredRig) -> None:
    rig.register(OLD)
    rig.add_lines({"a": 1, "ts": 1}, {"a": 2, "ts": 1, "c": 7})
    rig.run()
    assert rig.service.sink.totals.dead_letters == 1, "there was no such column"
    standing = set(rig.service.registrar.network.nodes)
    rig.register(ADD)
    assert set(rig.service.registrar.network.nodes) == standing
    rig.register(NEW)
    rig.add_lines({"a": 3, "ts": 1, "c": 8}, {"a": 4, "ts": 1}, {"a": 5, "ts": 1, "c": "x"})
    rig.run()
    assert rig.records("old") == [{"a": 1}, {"a": 3}, {"a": 4}]
    assert pairs(rig, "new") == [(3, 8), (4, None)]
    page = rig.service.dead_letters(None, "s", 10)
    assert [letter["line"] for letter in page["letters"]] == [2, 5]
    with pytest.raises(SeineError, match="column c is declared twice"):
        rig.register(ADD)
    rig.crash()
    with pytest.raises(SeineError, match="column c is declared twice"):
        rig.register(ADD)
    rig.add_lines({"a": 6, "ts": 2, "c": 9})
    rig.run()
    assert rig.records("old")[-1] == {"a": 6} and pairs(rig, "new")[-1] == (6, 9)


def test_a_query_with_history_has_null_in_tuples_from_before(rig: AlteredRig) -> None:
    rig.add_lines(*({"a": value, "ts": 1} for value in range(7)))
    rig.run()
    rig.register(ADD)
    rig.add_lines(*({"a": value, "ts": 1, "c": value} for value in range(7, 12)))
    rig.run()
    rig.register("CREATE QUERY whole WITH (history = 'retained') AS SELECT a, c FROM s;")
    rig.add_lines({"a": 12, "ts": 1, "c": 12})
    rig.run()
    expected = [(value, None if value < 7 else value) for value in range(13)]
    assert pairs(rig, "whole") == expected


def test_lines_that_were_read_before_and_not_admitted_have_the_column(rig: AlteredRig) -> None:
    rig.register(OLD)
    rig.add_lines(
        *({"a": value, "ts": 1} for value in range(3)),
        *({"a": value, "ts": 1, "c": 1} for value in range(3, 6)),
    )
    rig.service.driver.run_some(rig.host.run)  # a micro-batch has three lines
    rig.register(ADD + NEW)
    rig.run()
    assert rig.service.sink.totals.dead_letters == 0
    assert rig.records("old") == [{"a": value} for value in range(6)]


def test_files_of_parquet_from_before_and_after(tmp_path: Path) -> None:
    """A file with the column is an error before, and is read when it was added."""
    folder = tmp_path / "p"
    folder.mkdir()
    pq.write_table(pa.table({"a": [1], "ts": [1]}), folder / "1.parquet")
    rig = AlteredRig(tmp_path)
    rig.register(
        "CREATE STREAM p (a BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 9 FROM 'p/*.parquet' FORMAT PARQUET;"
        "CREATE QUERY old AS SELECT a FROM p;"
    )
    rig.run()
    rig.register("ALTER STREAM p ADD COLUMN c BIGINT; CREATE QUERY new AS SELECT a, c FROM p;")
    pq.write_table(pa.table({"a": [2], "ts": [1], "c": [7]}), folder / "2.parquet")
    pq.write_table(pa.table({"a": [3], "ts": [1]}), folder / "3.parquet")
    rig.run()
    assert rig.records("old") == [{"a": 1}, {"a": 2}, {"a": 3}]
    assert pairs(rig, "new") == [(2, 7), (3, None)]
    rig.service.close()


def test_paused_queries_come_back_as_they_were(rig: AlteredRig) -> None:
    rig.register("CREATE QUERY old AS SELECT * FROM s;")
    rig.service.registrar.pause("old")
    rig.register(ADD)
    rig.service.registrar.resume("old")
    rig.add_lines({"a": 1, "ts": 1, "c": 5})
    rig.run()
    assert rig.records("old") == [{"a": 1, "ts": 1}]


def test_a_refused_script_adds_no_column(rig: AlteredRig) -> None:
    before = rig.service.registrar.view
    with pytest.raises(SeineError, match="nobody"):
        rig.register(ADD + "CREATE QUERY q AS SELECT nobody FROM s;")
    assert rig.service.registrar.view is before
    rig.register(ADD)


@seeds(6)
def test_columns_come_while_queries_do_through_crashes(tmp_path: Path, seed: int) -> None:
    """Each query reports the lines from its registration on, with the columns of then: by brute force."""
    random = Random(seed)
    (tmp_path / "s.jsonl").touch()
    rig = AlteredRig(tmp_path)
    rig.register(STREAM)
    columns, lines, queries = ["a"], list[dict[str, Any]](), dict[str, tuple[int, list[str], str]]()
    for step in range(30):
        kind = random.choice(["lines", "lines", "query", "column", "crash"])
        if kind == "lines":
            more = [{"a": len(lines) + i, "ts": 1} for i in range(random.randrange(1, 5))]
            for line in more:
                line.update({name: random.randrange(9) for name in columns[1:] if random.random() < 0.7})
            rig.add_lines(*more)
            lines += more
            rig.run()
        elif kind == "query":
            name, chosen = f"q{step}", random.sample(columns, random.randrange(1, len(columns) + 1))
            key = random.choice(columns)
            rig.register(f"CREATE QUERY {name} AS SELECT {', '.join(chosen)} FROM s WHERE {key} >= 2;")
            queries[name] = len(lines), chosen, key
        elif kind == "column" and len(columns) < 5:
            columns.append(f"c{len(columns)}x")
            rig.register(f"ALTER STREAM s ADD COLUMN {columns[-1]} INT;")
        elif kind == "crash":
            rig.crash()
    compared = 0
    for name, (since, chosen, key) in queries.items():
        wanted = [{one: line.get(one) for one in chosen} for line in lines[since:] if line.get(key, 0) >= 2]
        rows = [
            json.loads(text)["row"]
            for text in read_records(rig.service.sink.index, name, 0).lines.splitlines()
        ]
        assert [{one: row.get(one) for one in chosen} for row in rows] == wanted
        compared += len(wanted)
    rig.service.close()
    assert compared > 20
