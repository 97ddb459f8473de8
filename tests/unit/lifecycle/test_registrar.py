"""Queries come and go while a service runs, hosted here in this process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seine.errors import RunError, ScriptError, SeineError, TakenError
from seine.lifecycle.view import MissingError
from seine.runtime.folder.versions import record_of_version
from seine.service.service import Service, ServiceOptions
from seine.service.tail import read_records
from tests.support.everywhere import EVERYWHERE
from tests.support.service_rig import STREAM, Rig


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    (tmp_path / "s.jsonl").touch()
    rig = Rig(tmp_path)
    yield rig
    rig.service.close()


def trace(rig: Rig) -> tuple[Any, ...]:
    """Everything that a refusal must leave as it was."""
    with rig.service._catalog.read() as r:
        held = (r.streams(), r.relations(), r.edges(), r.queries(), r.version(), r.setting("epoch"))
    network, view = rig.service.registrar.network, rig.service.published.view
    return (*held, network.record().nodes, view.declared, view.version, view.epoch)


def test_a_query_runs_from_its_registration_on(rig: Rig) -> None:
    first = rig.register(STREAM + "CREATE QUERY q AS SELECT a FROM s WHERE a > 1;")
    assert first.registered == ("q",) and first.entry == 0
    rig.feed(1, 2)
    rig.run()
    second = rig.register("CREATE QUERY p AS SELECT a + 1 AS b FROM s WHERE a > 1;")
    assert second.entry == 1 and second.version == first.version + 1
    rig.feed(3)
    rig.run()
    assert rig.records("q") == [{"a": 2}, {"a": 3}]
    assert rig.records("p") == [{"b": 4}]
    assert rig.service.query("P")["since"] == {"entry": 1, "results": 70, "streams": {"s": 2}}


def test_a_query_of_documents_is_registered_and_dropped(rig: Rig, tmp_path: Path) -> None:
    """Nothing of it enters the computation index, which is of SQL."""
    lines = [{"doc": f"<a><b>{value}</b></a>", "ts": ts} for ts, value in enumerate("xyx")]
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    rig.register("CREATE STREAM d (doc XML, ts BIGINT) TIMESTAMP BY ts FROM 'd.jsonl';")
    rig.register("CREATE QUERY q AS XSCL $$ D//b->p FOLLOWED BY{p=r, 5} D//b->r $$;")
    rig.run()
    assert [row["bindings"] for row in rig.records("q")] == [{"p": 1, "r": 1}]
    rig.service.registrar.drop("q")
    assert not rig.service.registrar.network.nodes


def test_registrations_between_two_entries_are_of_one_age(rig: Rig) -> None:
    rig.register(STREAM + "CREATE QUERY q AS SELECT a FROM s;")
    rig.feed(1)
    rig.run()
    rig.register("CREATE QUERY p AS SELECT a FROM s;")
    rig.register("CREATE QUERY r AS SELECT a FROM s;")
    born = {key: one.birth_epoch for key, one in rig.service.published.view.registered.items()}
    assert born == {"q": 0, "p": 1, "r": 1}
    rig.feed(2)
    rig.run()
    last = rig.service.deployment.journal.last()
    assert last is not None and last.epoch == 1


def test_a_drop_ends_it_and_frees_its_nodes(rig: Rig) -> None:
    rig.register(STREAM + "CREATE QUERY q AS SELECT a FROM s; CREATE QUERY p AS SELECT a FROM s WHERE a > 0;")
    rig.feed(1)
    rig.run()
    rig.service.registrar.drop("Q")
    rig.service.registrar.drop("p")
    assert not rig.service.registrar.network.nodes
    rig.feed(2)
    rig.run()
    assert rig.records("q") == [{"a": 1}]
    assert rig.service.queries() == [] and rig.service.sink.totals.outputs == {}


def test_of_two_who_drop_or_register_one_wins(rig: Rig) -> None:
    rig.register(STREAM + "CREATE QUERY q AS SELECT a FROM s;")
    with pytest.raises(TakenError, match="query Q exists already") as refusal:
        rig.register("CREATE QUERY Q AS SELECT a FROM s;")
    assert str(refusal.value.where) == "x.sql:1:14"
    rig.service.registrar.drop("q")
    with pytest.raises(MissingError, match="there is no query q"):
        rig.service.registrar.drop("q")


@pytest.mark.parametrize(
    "script",
    [
        "CREATE QUERY p AS SELECT a FROM s; CREATE QUERY r AS SELECT b FROM s;",
        "CREATE QUERY p AS SELECT a FROM s; CREATE QUERY q AS SELECT a FROM s;",
        "CREATE STREAM t (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'no/where.jsonl';",
        "CREATE STREAM t (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'state/results.jsonl';",
        "CREATE STREAM t (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM '/dev/zero';",
        "CREATE RELATION f (a BIGINT) FROM 'f'; CREATE QUERY p AS SELECT s.a FROM s, f WHERE s.a = f.a;",
        "CREATE RELATION f (a BIGINT) FROM 'no/where.jsonl';",
        "DROP QUERY q; DROP STREAM s; CREATE QUERY p AS SELECT a FROM s;",
        "DROP STREAM s;",
        "DROP QUERY q; CREATE QUERY p AS SELECT s0.a FROM s s0"
        + "".join(f", s s{i}" for i in range(1, 27))
        + " WHERE s0.a = s1.a"
        + "".join(f" AND s{i - 1}.{'ta'[i % 2]}{'s' * (1 - i % 2)} = s{i}.a" for i in range(2, 27))
        + ";",
    ],
)
def test_what_is_refused_leaves_no_trace(rig: Rig, script: str) -> None:
    rig.register(STREAM + "CREATE QUERY q AS SELECT a FROM s;")
    before = trace(rig)
    with pytest.raises(SeineError):
        rig.register(script)
    assert trace(rig) == before
    rig.feed(5)
    rig.run()
    assert rig.records("q") == [{"a": 5}]
    rig.register("CREATE QUERY p AS SELECT a FROM s;")


def test_a_query_that_is_refused_by_itself_costs_no_reading(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.register(STREAM + "CREATE QUERY q AS SELECT a FROM s;")
    before, network = trace(rig), rig.service.registrar.network
    bad = "CREATE QUERY p WITH (limit = 2) AS SELECT a FROM s;"

    def refuse(*_: object) -> None:
        raise SeineError("no")

    with monkeypatch.context() as patch:
        patch.setattr("seine.network.query_delivery.plain_block", lambda *_, **__: refuse())
        with pytest.raises(SeineError, match="no"):
            rig.register(bad)
    assert trace(rig) == before and rig.service.registrar.network is network
    rig.register(bad)


def test_a_refusal_by_the_catalog_leaves_no_trace(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.register(STREAM + "CREATE QUERY q AS SELECT a FROM s;")
    before = trace(rig)

    def fail(*_: object) -> None:
        raise SeineError("the catalog's database refuses: disk full")

    with monkeypatch.context() as patch:
        patch.setattr("seine.service.catalog_record.enter", fail)
        with pytest.raises(SeineError, match="disk full"):
            rig.register("DROP QUERY q; CREATE QUERY p AS SELECT a FROM s;")
    assert trace(rig) == before
    rig.register("CREATE QUERY p AS SELECT a FROM s;")
    rig.feed(5)
    rig.run()
    assert rig.records("q") == rig.records("p") == [{"a": 5}]


def test_a_whole_version_that_never_became_true_is_not_built_upon(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.register(STREAM + "CREATE QUERY q AS SELECT a FROM s;")
    rig.register("CREATE QUERY p AS SELECT a FROM s WHERE a > 1;")
    rig.service.deployment.versions._pending = None  # the next version is written whole

    def fail(*_: object) -> None:
        raise SeineError("the catalog's database refuses: disk full")

    with monkeypatch.context() as patch:
        patch.setattr("seine.service.catalog_record.enter", fail)
        with pytest.raises(SeineError, match="disk full"):
            rig.register("CREATE QUERY r AS SELECT a FROM s WHERE a > 2;")
    rig.register("CREATE QUERY t AS SELECT a FROM s WHERE a > 3;")  # what changed, under the same number
    rig.feed(5)
    rig.run()
    rig.crash()
    rig.feed(6)
    rig.run()
    assert rig.records("t") == rig.records("p") == [{"a": 5}, {"a": 6}] and rig.records("r") == []


def test_replacing_is_one_change(rig: Rig) -> None:
    rig.register(STREAM + "CREATE QUERY q WITH (limit = 1) AS SELECT a FROM s;")
    rig.feed(1, 2)
    rig.run()
    with pytest.raises(ScriptError):
        rig.register(
            "CREATE QUERY q AS SELECT a AS b FROM s; CREATE QUERY q AS SELECT a FROM s;", replace=True
        )
    done = rig.register("CREATE QUERY q AS SELECT a AS b FROM s;", replace=True)
    assert (done.registered, done.dropped, done.entry) == (("q",), ("q",), 1)
    rig.feed(3, 4)
    rig.run()
    assert rig.records("q") == [{"a": 1}, {"b": 3}, {"b": 4}]
    assert rig.service.query("q")["outputs"] == 2


def test_a_paused_query_delivers_nothing_and_begins_anew(rig: Rig) -> None:
    rig.register(STREAM + "CREATE QUERY q AS SELECT a FROM s;")
    rig.service.registrar.pause("q")
    assert not rig.service.registrar.network.nodes and rig.service.query("q")["state"] == "paused"
    with pytest.raises(TakenError, match="paused already"):
        rig.service.registrar.pause("q")
    with pytest.raises(TakenError, match="s is used by query q"):
        rig.register("DROP STREAM s;")
    rig.feed(1)
    rig.run()
    rig.crash()
    assert rig.service.query("q")["state"] == "paused"
    rig.service.registrar.resume("q")
    rig.feed(2)
    rig.run()
    assert rig.records("q") == [{"a": 2}]
    assert rig.service.query("q")["since"]["entry"] == 1


def test_streams_and_relations_come_and_go(rig: Rig, tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").touch()
    (tmp_path / "f.jsonl").write_text('{"a": 2}\nnonsense\n')
    rig.register(STREAM)
    rig.feed(1)
    rig.run()
    rig.register(STREAM.replace(" s ", " t ").replace("s.jsonl", "t.jsonl"))
    rig.register("CREATE RELATION f (a BIGINT) FROM 'f.jsonl'; CREATE JOIN s.a = t.a;")
    rig.register("CREATE QUERY q AS SELECT t.a FROM t, f WHERE t.a = f.a;")
    rig.feed(1, 2, stream="t")
    rig.run()
    assert rig.records("q") == [{"a": 2}]
    assert rig.service.sink.totals.dead_letters == 1
    with pytest.raises(TakenError):
        rig.register("DROP RELATION f;")
    rig.register("DROP QUERY q; DROP JOIN t.a = s.a; DROP RELATION f; DROP STREAM t;")
    assert rig.service.registrar.relations.tuples == {}
    rig.feed(7, stream="t")
    rig.run()
    rig.register(
        STREAM.replace(" s ", " t ").replace("s.jsonl", "t.jsonl") + "CREATE QUERY q AS SELECT a FROM t;"
    )
    rig.crash()
    rig.run()
    assert rig.records("q") == [{"a": 2}, {"a": 1}, {"a": 2}, {"a": 7}]  # a stream is read from its beginning


def test_a_deletion_of_a_tuple_from_before_the_first_reader_ends_no_other(rig: Rig) -> None:
    def feed(time: int, **sign: str) -> None:
        with (rig.folder / "s.jsonl").open("a") as file:
            file.write(json.dumps({**sign, "a": 1, "ts": time}) + "\n")
        rig.run()

    retractable = STREAM.replace("WINDOW 10", "WINDOW 10 RETRACTABLE")
    rig.register(retractable)
    feed(1)
    rig.register("CREATE QUERY q AS SELECT a FROM s;")
    feed(2)
    feed(3, **{"@op": "-"})  # means the tuple of 1
    feed(5)
    feed(6)
    lines = read_records(rig.service.sink.index, "q", 0).lines.splitlines()
    assert [(r["op"], r["t_start"]) for r in map(json.loads, lines)] == [("+", 2), ("+", 5)]
    rig.register("DROP QUERY q;")
    assert len(rig.service.registrar.network.nodes) == 2 and rig.service.registrar.network.watched
    rig.register("DROP STREAM s;" + retractable)
    assert len(rig.service.registrar.network.nodes) == 2
    rig.register("DROP STREAM s;" + retractable.replace("WINDOW 10 ", ""))
    assert not rig.service.registrar.network.nodes and not rig.service.registrar.network.watched


def test_everything_comes_back_after_a_crash(rig: Rig) -> None:
    rig.register(
        STREAM + 'CREATE QUERY "Q" AS SELECT a FROM s; CREATE QUERY p AS SELECT a FROM s WHERE a = 2;'
    )
    rig.feed(1)
    rig.run()
    rig.register("CREATE QUERY r WITH (limit = 1) AS SELECT a FROM s;")
    before = trace(rig), rig.service.queries()
    rig.crash()
    assert (trace(rig), rig.service.queries()) == before
    rig.feed(2, 3)
    rig.run()
    assert rig.records("Q") == [{"a": 1}, {"a": 2}, {"a": 3}] and rig.records("p") == [{"a": 2}]
    assert rig.records("r") == [{"a": 2}]


def test_many_queries_are_one_change(rig: Rig) -> None:
    script = "".join(f"CREATE QUERY q{i} AS SELECT a FROM s WHERE a = {i};\n" for i in range(300))
    rig.register(STREAM)
    done = rig.register(script)
    assert len(done.registered) == 300 and done.version == 1
    with rig.service._catalog.read() as r:
        assert len(r.queries()) == 300 and r.version() == 1
    rig.feed(7)
    rig.run()
    assert rig.records("q7") == [{"a": 7}]


def test_a_deeper_query_makes_the_pipeline_deeper(rig: Rig) -> None:
    rig.register(STREAM + "CREATE QUERY q AS SELECT x.a FROM s x, s y WHERE x.a = y.a AND x.ts < y.ts;")
    rig.feed(1, ts=1)
    rig.run()
    deep = "SELECT w.a FROM s w, s x, s y, s z WHERE w.a = x.a AND x.ts = y.ts AND y.a = z.a AND z.ts > w.ts"
    rig.feed(1, ts=2)
    done = rig.register(f"CREATE QUERY p AS {deep};")
    assert done.entry == 2, "the entry that hands over comes first"
    assert rig.service.deployment.settings.depth == 2
    rig.run()
    settings = rig.service.deployment.settings
    assert settings.depth == rig.service.registrar.network.depth == 3 and settings.start == 1
    rig.feed(1, ts=3)
    rig.run()
    assert len(rig.records("q")) == 3 and rig.records("p")


def test_a_deeper_query_may_come_right_after_its_stream(rig: Rig) -> None:
    rig.register(STREAM + "CREATE QUERY q AS SELECT k.a FROM s k, s l WHERE k.a = l.a;")
    deep = "SELECT w.a FROM s w, s x, s y, s z WHERE w.a = x.a AND x.ts = y.ts AND y.a = z.a"
    assert rig.register(f"CREATE QUERY p AS {deep};").entry == 1
    rig.feed(1)
    rig.run()
    assert rig.records("p") == rig.records("q") == [{"a": 1}]


def test_a_service_may_be_started_with_more_stages(rig: Rig) -> None:
    rig.register(STREAM + "CREATE QUERY q AS SELECT a FROM s;")
    rig.depth = 5
    rig.crash()
    rig.crash()
    rig.feed(1)
    rig.run()
    assert rig.service.deployment.settings.depth == 5 and rig.service.sink.totals.entry == 1
    assert rig.records("q") == [{"a": 1}]


def _record(rig: Rig, version: int) -> Path:
    (path,) = Path(rig.service.deployment.folder, record_of_version(version)).iterdir()
    return path


def test_a_service_that_cannot_start_lets_go_of_its_folder(rig: Rig, tmp_path: Path) -> None:
    rig.register(STREAM + "CREATE QUERY q AS SELECT a FROM s;")
    path = _record(rig, 0)
    rig.service.close()
    whole = path.read_bytes()
    path.write_bytes(b"\n{")
    for _ in range(2):
        with pytest.raises(SeineError, match="damaged"):
            rig.open()
    path.write_bytes(whole)
    rig.open()


@pytest.mark.parametrize("content", [None, b"", b"\n{", b"\n\xff", b'\n{"change": {}'])
@pytest.mark.parametrize("version", [0, 2])
def test_a_damaged_version_is_told(rig: Rig, version: int, content: bytes | None) -> None:
    rig.register(STREAM + "CREATE QUERY q AS SELECT a FROM s;")
    rig.register("CREATE QUERY p AS SELECT a FROM s WHERE a > 1;")
    path = _record(rig, version)
    whole = path.read_bytes()
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(SeineError, match="the checkpoint is damaged"):
        rig.crash()
    path.write_bytes(whole)
    rig.open()


def test_a_catalog_that_is_gone_is_told(rig: Rig) -> None:
    rig.register(STREAM + "CREATE QUERY q AS SELECT a FROM s;")
    rig.feed(1)
    rig.run()
    rig.service.close()
    catalog = Path(rig.service.folder.catalog)
    catalog.rename(catalog.with_suffix(".kept"))
    with pytest.raises(RunError, match="the catalog is older than the pipeline"):
        rig.open()
    catalog.with_suffix(".kept").replace(catalog)
    rig.open()


def test_one_process_serves_a_folder(rig: Rig) -> None:
    with pytest.raises(SeineError, match="another process serves"):
        Service(rig.service.folder, ServiceOptions(reach=EVERYWHERE))


CSV_STREAM = "CREATE STREAM c (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'c.csv' FORMAT CSV;"


def test_a_source_that_fails_harms_its_own_queries_alone(rig: Rig) -> None:
    """Neither the running service dies of it nor the next start; mended, it is taken up again."""
    path = rig.folder / "c.csv"
    path.write_text("x,y\n1,1\n")
    with pytest.raises(SeineError, match="unknown column 'x'"):
        rig.register(CSV_STREAM)
    path.unlink()
    rig.register(STREAM + CSV_STREAM)
    rig.register("CREATE QUERY q AS SELECT a FROM s; CREATE QUERY p AS SELECT a FROM c;")
    path.write_text("x,y\n1,1\n")
    rig.feed(1)
    rig.run()
    assert rig.records("q") == [{"a": 1}]
    rig.crash()
    rig.feed(2)
    rig.run()
    states = {one.stream: one.condition.state for one in rig.service.stream_states()}
    assert rig.records("q") == [{"a": 1}, {"a": 2}] and states == {"s": "running", "c": "failed"}
    assert "unknown column 'x'" in rig.service.status()["stream_troubles"]["c"]
    path.write_text("a,ts\n7,1\n")
    rig.crash()
    rig.run()
    assert rig.records("p") == [{"a": 7}]


def test_a_stream_whose_source_fails_can_be_dropped(rig: Rig) -> None:
    rig.register(STREAM + CSV_STREAM + "CREATE QUERY p AS SELECT a FROM c;")
    (rig.folder / "c.csv").write_text("x,y\n1,1\n")
    rig.run()
    rig.register("DROP QUERY p; DROP STREAM c;")
    rig.feed(1)
    rig.run()
    assert [one.stream for one in rig.service.stream_states()] == ["s"]


def test_an_idle_service_writes_nothing(rig: Rig) -> None:
    rig.register(STREAM + "CREATE QUERY q AS SELECT x.a AS a FROM s x, s y WHERE x.a = y.a;")
    rig.feed(1, 2)
    rig.run()

    def content() -> dict[str, int]:
        return {str(path): path.stat().st_size for path in rig.folder.rglob("*") if path.is_file()}

    before = content()
    for _ in range(2000):
        assert not rig.service.driver.run_some(rig.host.run)
    assert content() == before


@pytest.mark.parametrize("path", ["state/catalog.db", "state/pipeline/journal", "state/pipeline/**", "link"])
def test_a_service_does_not_read_its_own_folder(rig: Rig, path: str) -> None:
    (rig.folder / "link").symlink_to(rig.folder / "state" / "pipeline")
    with pytest.raises(SeineError, match="lies in the folder of the service"):
        rig.register(STREAM.replace("s.jsonl", path))


@pytest.mark.parametrize("neighbour", ["none", "later", "of another time"])
def test_final_groups_do_not_wait_for_a_stream_that_is_none_of_theirs(rig: Rig, neighbour: str) -> None:
    """A punctuation counts once all tuples before it are complete: those of its own streams."""
    (rig.folder / "b.jsonl").touch()
    rig.register(
        "CREATE STREAM b (a BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (a) FROM 'b.jsonl';"
        "CREATE QUERY f WITH (unbounded = true, emit = 'final') AS SELECT a, COUNT(*) AS n FROM b GROUP BY a;"
    )
    if neighbour != "none":
        type_, ts = ("BIGINT", 10**6) if neighbour == "later" else ("TIMESTAMP", "2024-01-01T00:00:00Z")
        (rig.folder / "z.jsonl").write_text(json.dumps({"a": 1, "ts": ts}) + "\n")
        rig.register(f"CREATE STREAM z (a BIGINT, ts {type_}) TIMESTAMP BY ts FROM 'z.jsonl';")
        rig.run()
    with (rig.folder / "b.jsonl").open("a") as file:
        for a in range(10):
            file.write(json.dumps({"a": a, "ts": a}) + "\n")
            file.write(json.dumps({"@punctuate": {"a": a}, "ts": a}) + "\n")
    rig.run()
    rig.feed(99, stream="b", ts=50)
    rig.run()
    assert sorted(record["a"] for record in rig.records("f")) == [*range(10)]


def test_views_are_known_to_later_scripts_and_come_back(rig: Rig) -> None:
    rig.register(STREAM + "CREATE VIEW large AS SELECT a, ts FROM s WHERE a > 5;")
    rig.crash()
    rig.register("CREATE QUERY q AS SELECT a FROM large WHERE a < 9;")
    rig.feed(3, 7, 11)
    rig.run()
    assert rig.records("q") == [{"a": 7}]
    with pytest.raises(TakenError, match="used by view large"):
        rig.register("DROP QUERY q; DROP STREAM s;")
    rig.register("DROP VIEW large;")
    rig.crash()
    assert not rig.service.registrar.view.declared.views
    rig.feed(8, ts=2)
    rig.run()
    assert rig.records("q") == [{"a": 7}, {"a": 8}]
