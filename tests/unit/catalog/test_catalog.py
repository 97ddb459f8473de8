"""The catalog answers alike in memory and on a file."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import Column, create_engine, func, inspect, select

from seine.algebra.definitions import JoinEdge, RelationDef, Scheme, Source, StreamDef
from seine.algebra.expressions import Call, Literal
from seine.algebra.expressions import Column as Value
from seine.algebra.plan import Scan, Select
from seine.algebra.serialise import plan_to_json
from seine.algebra.types import BIGINT, BOOLEAN, DOUBLE, STRING, TIMESTAMP, Field, Type
from seine.catalog.catalog import Catalog
from seine.catalog.catalog_change import NODES, CatalogChange
from seine.catalog.tables import schema as t
from seine.catalog.tables.schema import metadata
from seine.catalog.tables.stored import QueryPosition, StoredNode, StoredQuery
from seine.errors import SeineError


@pytest.fixture(params=["memory", "file"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> str | None:
    return str(tmp_path / "catalog.db") if request.param == "file" else None


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "catalog.db")


@pytest.fixture
def catalog(file: str | None) -> Iterator[Catalog]:
    catalog = Catalog(file)
    yield catalog
    catalog.close()


def stream(name: str = "bid") -> StreamDef:
    return StreamDef(
        name=name,
        fields=(
            Field("bidder", BIGINT),
            Field("price", Type.parse("DECIMAL(38,10)")),
            Field("imp", DOUBLE),
            Field("ts", TIMESTAMP),
        ),
        time=3,
        source=Source("/data/*.jsonl", "JSON", (("b", "2"), ("a", "it's"))),
        window=2**62,
        lateness=5,
        schemes=(Scheme((0,)), Scheme((2, 0), lifespan=100)),
        retractable=True,
        importance=2,
    )


def relation(name: str = "fact") -> RelationDef:
    fields = (Field("a", BIGINT), Field("begin", BIGINT), Field("end", BIGINT), Field("note", STRING))
    return RelationDef(name, fields, Source("/data/fact.csv", "CSV"), valid=(1, 2))


def query(name: str, *inputs: str) -> StoredQuery:
    return StoredQuery(
        name=name,
        text="SELECT 'é' FROM bid; -- \U0001f41f",
        plan={"node": "scan", "of": [1, 2.5, None, "x"]},
        inputs=inputs,
        options={"memory": 1000, "shed": "dgl", "unbounded": True},
        birth_epoch=2**40,
        position=QueryPosition(3, 17, {"bid": 2**40}),
        paused=True,
    )


def node(number: int, *inputs: int, kind: str = "select") -> StoredNode:
    form = {"kind": kind, "id": number, "stage": len(inputs), "ports": [{"node": n} for n in inputs]}
    return StoredNode(number, kind, len(inputs), inputs, form)


def test_definitions_come_back_as_they_were(catalog: Catalog) -> None:
    plain = StreamDef("item", (Field("ts", BIGINT),), 0, None)
    with catalog.change() as c:
        c.add_stream(stream())
        c.add_relation(relation())
        c.add_stream(plain)
        c.add_relation(RelationDef("bare", (Field("a", BIGINT),), None))
        c.add_edge(JoinEdge("bid", 0, "fact", 0))
        assert c.stream("bid") == stream()
    with catalog.read() as r:
        assert r.streams() == {"bid": stream(), "item": plain}
        assert list(r.streams()) == ["bid", "item"]
        assert r.stream("BID") == stream()
        assert r.stream("fact") is None
        assert r.relation("fact") == relation()
        assert r.relations()["bare"].valid is None
        assert r.edges() == [JoinEdge("bid", 0, "fact", 0)]


def test_queries_come_back_in_order(catalog: Catalog) -> None:
    with catalog.change() as c:
        c.add_stream(stream())
        c.add_relation(relation())
        c.add_queries([query("q2", "bid", "fact", "bid")])
        c.add_queries([query("q1", "bid"), query("Q3")])
    with catalog.read() as r:
        assert r.queries() == [query("q2", "bid", "fact"), query("q1", "bid"), query("Q3")]
        assert r.query("q3") == query("Q3")
        assert r.query("q4") is None


def test_many_queries_at_once(catalog: Catalog) -> None:
    with catalog.change() as c:
        c.add_stream(stream())
        c.add_queries([query(f"q{n}", "bid") for n in range(1200)])
    with catalog.read() as r:
        assert len(r.queries()) == 1200
        assert r.query("q1199") == query("q1199", "bid")


def test_dropping(catalog: Catalog) -> None:
    with catalog.change() as c:
        c.add_stream(stream())
        c.add_relation(relation())
        c.add_edge(JoinEdge("bid", 0, "fact", 0))
        c.add_queries([query("q", "bid")])
    for attempt in (lambda c: c.drop_stream("bid"), lambda c: c.drop_relation("fact")):
        with pytest.raises(SeineError, match="is in use"), catalog.change() as c:
            attempt(c)
    with catalog.change() as c:
        c.drop_edge(JoinEdge("fact", 0, "bid", 0))
        c.drop_query("Q")
        c.drop_stream("bid")
        c.drop_relation("fact")
    with catalog.read() as r:
        assert (r.streams(), r.relations(), r.edges(), r.queries()) == ({}, {}, [], [])
    with catalog.change() as c:
        c.add_relation(relation("bid"))


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda c: c.add_stream(stream("Bid")), "already a stream or relation named 'Bid'"),
        (lambda c: c.add_relation(relation("BID")), "already a stream or relation named 'BID'"),
        (lambda c: c.add_queries([query("Q")]), "name that is taken"),
        (lambda c: c.add_queries([query("new"), query("q")]), "name that is taken"),
        (lambda c: c.add_queries([query("other", "nowhere")]), "no stream or relation named 'nowhere'"),
        (lambda c: c.add_edge(JoinEdge("fact", 0, "bid", 0)), "joined on these columns already"),
        (lambda c: c.add_edge(JoinEdge("bid", 99, "fact", 0)), "refused"),
        (lambda c: c.drop_query("nobody"), "no query named 'nobody'"),
        (lambda c: c.drop_stream("fact"), "no stream named 'fact'"),
        (lambda c: c.drop_edge(JoinEdge("bid", 1, "fact", 0)), "not joined on these columns"),
        (lambda c: c.add_queries([query("a\0b")]), "cannot be stored"),
        (lambda c: c.add_stream(stream("\ud800")), "cannot be stored"),
        (lambda c: c.save_version(1), "network version 1 is saved already"),
    ],
)
def test_refusals_change_nothing(catalog: Catalog, attempt: Callable, message: str) -> None:
    with catalog.change() as c:
        c.add_stream(stream())
        c.add_relation(relation())
        c.add_edge(JoinEdge("bid", 0, "fact", 0))
        c.add_queries([query("q", "bid")])
        c.save_version(1)

    def change() -> None:
        with catalog.change() as c:
            c.add_queries([query("before")])
            attempt(c)

    with pytest.raises(SeineError, match=message):
        change()
    with catalog.read() as r:
        assert [q.name for q in r.queries()] == ["q"]
        assert list(r.streams()) == ["bid"]
        assert r.version() == 1


def test_a_change_goes_on_after_a_refusal(catalog: Catalog) -> None:
    with catalog.change() as c:
        c.add_queries([query("q")])
        with pytest.raises(SeineError):
            c.add_queries([query("q")])
        c.add_queries([query("r")])
    with catalog.read() as r:
        assert [q.name for q in r.queries()] == ["q", "r"]


@pytest.mark.parametrize(
    "name",
    [
        'it\'s "quoted" `q`; DROP TABLE seine_query; --',
        "\u5bff\u53f8 \U0001f363 \u202e",
        "%s %(x)s :x ?",
        "x" * 100_000,
        " ",
    ],
)
def test_hostile_names(catalog: Catalog, name: str) -> None:
    with catalog.change() as c:
        c.add_stream(stream(name))
        c.add_relation(RelationDef(name + "!", (Field(name, BIGINT),), Source(name), None))
        c.add_queries([query(name, name)])
    with catalog.read() as r:
        assert r.stream(name) == stream(name)
        assert r.relation(name + "!").fields[0].name == name
        assert r.query(name) == query(name, name)
    with pytest.raises(SeineError) as refused, catalog.change() as c:
        c.add_stream(stream(name))
    assert len(refused.value.render()) < 300
    with catalog.change() as c:
        c.drop_query(name)
        c.drop_stream(name)


def rows(change: CatalogChange, *columns: Column[Any]) -> list[Any]:
    return [*change._connection.execute(select(*columns).order_by(*columns))]


def test_rows_of_nodes_follow_versions(catalog: Catalog) -> None:
    first = [node(1, kind="source"), node(2, 1), node(3, 2, 2, kind="join")]
    with catalog.change() as c:
        c.add_queries([query("q"), query("r")])
        c.save_version(1)
        c.write_nodes(come=first, uses={"q": [1, 2, 3], "r": [1, 3, 3]})
        c.save_version(2)
        c.save_version(5)
        assert (c.version(), c.setting(NODES)) == (5, 1)
        c.write_nodes(gone=[2], come=[node(4, 3)], predicates={3: ["?1 > 1"]}, uses={"q": [4]})
    with catalog.change() as c:
        assert c.setting(NODES) == 5
        assert rows(c, t.node.c.id, t.node.c.added) == [(1, 1), (3, 1), (4, 5)]
        assert rows(c, t.node_input.c.input_id) == [(2,), (2,), (3,)]
        assert rows(c, t.node_user.c.query_id, t.node_user.c.node_id) == [(1, 4), (2, 1), (2, 3)]
        assert rows(c, t.node_predicate.c.node_id, t.node_predicate.c.shape) == [(3, "?1 > 1")]
        assert rows(c, t.network_version.c.version) == [(1,), (5,)]
        c.write_nodes(come=[node(7)], afresh=True)
        assert rows(c, t.node.c.id, t.node.c.added) == [(7, 5)]
        assert _sizes(c) == [1, 1, 0, 0, 0, 0]


def test_what_computes_the_same_has_one_signature(catalog: Catalog) -> None:
    with catalog.change() as c:
        c.save_version(1)
        c.write_nodes(come=[node(1, 7), node(2, 7), node(3, 8)])
        (one,), (two,), (other,) = c._connection.execute(select(t.node.c.signature).order_by(t.node.c.id))
    assert one == two != other


def _sizes(change: CatalogChange) -> list[int]:
    """How many rows there are of everything that a network version has."""
    tables = [t.node, t.network_version, t.node_input, t.node_user, t.node_predicate, t.node_ancestor]
    counts = [select(func.count()).select_from(table) for table in tables]
    return [change._connection.execute(count).scalar_one() for count in counts]


def test_rows_are_those_of_the_network_however_many_versions_there_were(catalog: Catalog) -> None:
    with catalog.change() as c:
        c.add_queries([query("q")])
        c.save_version(1)
        c.write_nodes(come=[node(1, kind="source")], uses={"q": [1]})
        first = _sizes(c)
    sizes = []
    for version in range(2, 40):
        one = replace(node(version, 1), predicates=("?1 > 1",), selection_ancestor=1)
        with catalog.change() as c:
            c.save_version(version)
            c.write_nodes(gone=[version - 1] if version > 2 else [], come=[one], uses={"q": [1, version]})
            sizes.append(_sizes(c))
    assert sizes[-1] == sizes[0] == [2, 2, 1, 2, 1, 1]
    with catalog.change() as c:
        c.save_version(40)
        c.write_nodes(gone=[39], uses={"q": [1]})
        assert _sizes(c) == [first[0], 2, *first[2:]]
        assert c.version() == 40
    with pytest.raises(SeineError, match="network version 3 is saved already"), catalog.change() as c:
        c.save_version(3)


def test_plans_come_back(catalog: Catalog) -> None:
    scan = Select(Scan(stream(), "b"), Call("gt", (Value(0, BIGINT), Literal(7, BIGINT)), BOOLEAN))
    with catalog.change() as c:
        c.add_queries([StoredQuery("q", "SELECT ...", plan_to_json(scan))])
    with catalog.read() as r:
        assert r.query("q").plan == plan_to_json(scan)


def test_a_dropped_query_uses_no_node(catalog: Catalog) -> None:
    with catalog.change() as c:
        c.add_queries([query("q"), query("r")])
        c.save_version(1)
        c.write_nodes(come=[node(1)], uses={"q": [1], "r": [1]})
        c.drop_query("q")
        assert rows(c, t.node_user.c.query_id) == [(2,)]


def test_settings(catalog: Catalog) -> None:
    with catalog.change() as c:
        assert c.setting("depth") is None
        assert c.setting("depth", 3) == 3
        c.set("depth", 4)
        c.set("depth", {"of": [5]})
    with catalog.read() as r:
        assert r.setting("depth") == {"of": [5]}


def test_reopening_keeps_everything(path: str) -> None:
    first = Catalog(path)
    with first.change() as c:
        c.add_stream(stream())
    second = Catalog(path)
    with second.read() as r:
        assert r.stream("bid") == stream()
    with second.change() as c:
        c.set("schema", 99)
    with pytest.raises(SeineError, match="schema version 99"):
        Catalog(path)
    first.close()
    second.close()


def test_of_two_writers_one_wins(file: str | None) -> None:
    shared = Catalog(file)
    won: list[int] = []
    refused: list[str] = []
    start = threading.Barrier(6)

    def write(number: int) -> None:
        catalog = Catalog(file) if file else shared
        start.wait()
        try:
            with catalog.change() as c:
                c.add_queries([StoredQuery(f"only{number}", "", None)])
                c.add_queries([StoredQuery("same", str(number), None)])
            won.append(number)
        except SeineError as error:
            refused.append(error.message)
        if catalog is not shared:
            catalog.close()

    writers = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    with shared.read() as r:
        assert [q.name for q in r.queries()] == [f"only{won[0]}", "same"]
        assert r.query("same").text == str(won[0])
    shared.close()
    assert len(won) == 1
    assert refused == ["one of these queries has a name that is taken"] * 5


def test_opening_a_new_database_at_once(path: str) -> None:
    opened: list[Catalog] = []
    threads = [threading.Thread(target=lambda: opened.append(Catalog(path))) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 5
    for catalog in opened:
        catalog.close()


def test_a_reader_sees_one_moment(path: str) -> None:
    catalog = Catalog(path)
    with catalog.read() as r:
        assert r.queries() == []
        with catalog.change() as c:
            c.add_queries([query("q")])
        assert r.queries() == []
    with catalog.read() as r:
        assert len(r.queries()) == 1
    catalog.close()


def test_constraints_reach_the_database(path: str) -> None:
    catalog = Catalog(path)
    engine = create_engine(f"sqlite:///{path}")
    inspector = inspect(engine)
    for table in metadata.tables.values():
        assert inspector.get_pk_constraint(table.name)["constrained_columns"] == [
            c.name for c in table.primary_key
        ]
        assert len(inspector.get_foreign_keys(table.name)) == len(table.foreign_key_constraints)
        indexed = {tuple(index["column_names"]) for index in inspector.get_indexes(table.name)}
        assert {tuple(c.name for c in index.columns) for index in table.indexes} <= indexed
    keys = inspector.get_unique_constraints("seine_query")
    assert [key["column_names"] for key in keys] == [["key"]]
    engine.dispose()
    catalog.close()


def test_what_cannot_be_opened_is_refused() -> None:
    with pytest.raises(SeineError, match=r"the catalog /no/such/folder/x.db refused: unable") as refused:
        Catalog("/no/such/folder/x.db")
    assert refused.value.hint


@pytest.mark.parametrize("file", ["memory"], indirect=True)
def test_memory_transactions_do_not_nest(catalog: Catalog) -> None:
    with catalog.change(), pytest.raises(RuntimeError, match="use that transaction"), catalog.read():
        pass
    with catalog.read() as r:
        assert r.queries() == []


def test_changes_do_not_nest(catalog: Catalog) -> None:
    with catalog.change(), pytest.raises(RuntimeError, match="use that transaction"), catalog.change():
        pass
