"""The computation index against definitions tried on all entered sets."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
from benchmarks.engine.index_cost import conditions as benchmark_conditions
from sqlalchemy import event, select, text

from seine.algebra.expressions import Column, Literal
from seine.algebra.types import BIGINT, STRING
from seine.catalog.catalog import Catalog
from seine.catalog.index import Placement, Topology, grouping, set_operation
from seine.catalog.index import index_tables as t
from seine.catalog.index import search_index as weaker_module
from seine.catalog.index import stronger as stronger_module
from seine.catalog.index.clauses import SearchResult
from seine.catalog.tables.stored import StoredQuery
from seine.errors import SeineError
from seine.optimizer.canonical.atoms import Atom, PredicateSet
from seine.optimizer.canonical.canonicalise import canonicalise
from seine.optimizer.canonical.implies import implies
from tests.support.canonical_conditions import random_condition
from tests.support.index_conditions import RandomConditions, holds, satisfied, set_implies
from tests.support.seeds import seeds

TABLES = (t.topology, t.term, t.literal, t.clause, t.alternative, t.predicate_set, t.set_clause, t.entry)
BID, ITEM = Topology("select", ("bid",)), Topology("select", ("item",))


@pytest.fixture(scope="module")
def shared() -> Catalog:
    return Catalog()


@pytest.fixture
def catalog(shared: Catalog) -> Iterator[Catalog]:
    """Empty before and after: whatever a test entered leaves without a trace."""
    yield shared
    with shared.change() as c:
        names = [query.name for query in c.queries()]
        c.leave(names[1:])
        for name in names:
            c.drop_query(name)
    assert all(rows == set() for rows in contents(shared).values())


def contents(catalog: Catalog) -> dict[str, set[tuple[Any, ...]]]:
    """All rows of the index, queries by name."""
    with catalog.read() as r:
        connection = r._connection
        tables = {
            table.name: {tuple(row) for row in connection.execute(select(table))} for table in TABLES[:-1]
        }
        ask = select(t.entry.c.set_id, text("seine_query.name"), t.entry.c.layer).join(
            text("seine_query"), text("seine_query.id = seine_index_entry.query_id")
        )
        tables["entry"] = {tuple(row) for row in connection.execute(ask)}
    return tables


def add(catalog: Catalog, placements: list[Placement]) -> None:
    with catalog.change() as c:
        known = {query.name for query in c.queries()}
        new = dict.fromkeys(p.query for p in placements if p.query not in known)
        c.add_queries([StoredQuery(name, "", None) for name in new])
        c.enter(placements)


def sets_of(result: SearchResult) -> set[PredicateSet]:
    assert all(match.queries for match in result.matches)
    sets = [match.predicates for match in result.matches]
    assert len(set(sets)) == len(sets)
    return set(sets)


@seeds(8)
def test_what_is_found_is_what_the_definitions_say(catalog: Catalog, seed: int) -> None:
    conditions = RandomConditions(seed)
    entered = [Placement(f"q{i}", BID if i % 5 else ITEM, conditions.predicates()) for i in range(60)]
    add(catalog, entered)
    here = {placement.predicates for placement in entered if placement.topology == BID}
    complete = matches = 0
    with catalog.read() as r:
        for _ in range(40):
            predicates = conditions.predicates()
            weaker, stronger = (
                find(BID, predicates, limit=100) for find in (r.index.weaker, r.index.stronger)
            )
            expected = {one for one in here if one != predicates and set_implies(predicates, one)}
            assert sets_of(weaker) <= expected
            assert not weaker.complete or sets_of(weaker) == expected
            expected = {one for one in here if one != predicates and set_implies(one, predicates)}
            assert sets_of(stronger) <= expected
            assert not stronger.complete or sets_of(stronger) == expected
            equal = r.index.equivalent(BID, predicates)
            assert (equal is not None) == (predicates in here)
            complete += weaker.complete + stronger.complete
            matches += len(weaker.matches) + len(stronger.matches)
            rows = [conditions.row() for _ in range(30)]
            for match in weaker.matches:
                assert implies(predicates, match.predicates)
                assert all(satisfied(match.predicates, row) for row in rows if satisfied(predicates, row))
            for match in stronger.matches:
                assert implies(match.predicates, predicates)
                assert all(satisfied(predicates, row) for row in rows if satisfied(match.predicates, row))
    assert complete > 50 and matches > 100


def test_canonical_conditions_of_all_types(catalog: Catalog) -> None:
    """Conditions as queries write them: whatever is found is so by the rules and on rows."""
    random = Random(11)
    sets = [canonicalise(random_condition(random, 1 + n % 2)).clauses for n in range(250)]
    add(catalog, [Placement(f"q{n}", BID, predicates) for n, predicates in enumerate(sets)])
    matches = 0
    with catalog.read() as r:
        for condition_set in sets[:80]:
            match = r.index.equivalent(BID, condition_set)
            assert match is not None and match.predicates == condition_set
            for weaker in r.index.weaker(BID, condition_set).matches:
                assert implies(condition_set, weaker.predicates)
                matches += 1
            for stronger in r.index.stronger(BID, condition_set).matches:
                assert implies(stronger.predicates, condition_set)
                matches += 1
    assert matches > 20


def test_among_many_hardly_any_search_finds_nothing(catalog: Catalog) -> None:
    """Where the bounds are met the search is not complete, but a match that exists is seldom missed."""
    random = Random(5)
    sets = [benchmark_conditions(random, 1_500) for _ in range(1_500)]
    add(catalog, [Placement(f"q{n}", BID, predicates) for n, predicates in enumerate(sets)])
    existing = missed = 0
    with catalog.read() as r:
        for conditions_ in [benchmark_conditions(random, 1_500) for _ in range(25)]:
            exists = (
                any(implies(conditions_, one) for one in sets),
                any(implies(one, conditions_) for one in sets),
            )
            for wanted, find in zip(exists, (r.index.weaker, r.index.stronger), strict=True):
                got = find(BID, conditions_)
                assert wanted or not got.matches
                assert not (got.complete and wanted and not got.matches)
                existing += wanted
                missed += wanted and not got.matches
    assert existing > 20 and missed <= existing / 5


def test_every_query_of_a_match_is_named(catalog: Catalog) -> None:
    low, high = over(5), over(7)
    add(catalog, [Placement(f"q{i}", BID, (low,)) for i in range(3)] + [Placement("other", ITEM, (low,))])
    with catalog.read() as r:
        match = r.index.equivalent(BID, (low,))
        assert match is not None and match.queries == ("q0", "q1", "q2") and match.predicates == ((low),)
        assert [m.queries for m in r.index.weaker(BID, (high,)).matches] == [("q0", "q1", "q2")]
        assert r.index.stronger(BID, (high,)).matches == ()
        assert r.index.weaker(ITEM, (low,)).matches == ()
        assert r.index.equivalent(BID, (high,)) is None
        assert r.index.equivalent(Topology("join", ("bid",)), (low,)) is None


def over(number: int, column: int = 0) -> tuple[Atom]:
    return (Atom(Column(column, BIGINT), "ge", Literal(number, BIGINT)),)


def equal(number: int, column: int = 0) -> tuple[Atom]:
    return (Atom(Column(column, BIGINT), "eq", Literal(number, BIGINT)),)


def test_the_nearest_come_first(catalog: Catalog) -> None:
    add(catalog, [Placement(f"q{n}", BID, (over(n),)) for n in range(0, 1000, 10)])
    with catalog.read() as r:
        weaker, stronger = r.index.weaker(BID, (over(555),), 3), r.index.stronger(BID, (over(555),), 3)
    assert [match.queries[0] for match in weaker.matches] == ["q550", "q540", "q530"]
    assert [match.queries[0] for match in stronger.matches] == ["q560", "q570", "q580"]
    assert not weaker.complete


def test_a_common_first_condition_hides_nothing(catalog: Catalog) -> None:
    """Thresholds are compared under each key by themselves, however many others there are."""
    add(
        catalog,
        [Placement(f"q{k}_{n}", BID, (equal(k), over(n + k, 1))) for k in range(40) for n in (100, 900)],
    )
    with catalog.read() as r:
        for k in range(40):
            predicates = (equal(k), over(500, 1))
            weaker, stronger = r.index.weaker(BID, predicates), r.index.stronger(BID, predicates)
            assert ([m.queries for m in weaker.matches], weaker.complete) == ([(f"q{k}_100",)], True)
            assert ([m.queries for m in stronger.matches], stronger.complete) == ([(f"q{k}_900",)], True)


def test_nothing_and_everything(catalog: Catalog) -> None:
    add(catalog, [Placement("all", BID, ()), Placement("some", BID, (over(1),))])
    with catalog.read() as r:
        assert r.index.equivalent(BID, ()).queries == ("all",)
        assert [m.queries for m in r.index.weaker(BID, (over(2),)).matches] == [("some",), ("all",)]
        assert [m.queries for m in r.index.stronger(BID, ()).matches] == [("some",)]
        assert r.index.weaker(BID, ()).matches == ()
        nowhere = r.index.weaker(Topology("select", ("nowhere",)), (over(2),))
        assert (nowhere.matches, nowhere.complete) == ((), True)


@seeds(3)
def test_entering_and_leaving_leave_no_trace(catalog: Catalog, seed: int) -> None:
    conditions = RandomConditions(seed)
    names = [f"q{i}" for i in range(12)]
    alive: dict[str, list[Placement]] = {}
    fresh = Catalog()
    for _ in range(30):
        name = conditions.random.choice(names)
        if name in alive:
            del alive[name]
            with catalog.change() as c:
                c.drop_query(name)
        else:
            placed = [
                Placement(
                    name,
                    conditions.random.choice([BID, ITEM]),
                    conditions.predicates(),
                    conditions.random.choice(["direct", "join"]),
                )
                for _ in range(3)
            ]
            alive[name] = placed
            add(catalog, placed)
        if conditions.random.random() < 0.2:
            fresh.close()
            fresh = Catalog()
            add(fresh, [placement for placed in alive.values() for placement in placed])
            assert contents(fresh) == contents(catalog)


def test_writers_at_once_leave_the_index_whole(catalog: Catalog) -> None:
    """Each enters and drops sets that the others have too; one that loses a race tries again."""
    kept: dict[str, list[Placement]] = {}

    def write(number: int) -> None:
        conditions = RandomConditions(7, alternatives=0.5)
        rng = RandomConditions(number).random
        for turn in range(8):
            name = f"w{number}_{turn}"
            placements = [Placement(name, BID, conditions.predicates()) for _ in range(3)]
            _insist(lambda name=name, group=placements: _register(catalog, name, group))
            kept[name] = placements
            if rng.random() < 0.6:
                _insist(lambda name=name: _drop(catalog, name))
                del kept[name]

    threads = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    fresh = Catalog()
    add(fresh, [placement for group in kept.values() for placement in group])
    assert contents(fresh) == contents(catalog)
    assert {name.split("_")[0] for name in kept} == {"w0", "w1", "w2"}


def _insist(work: Callable[[], None]) -> None:
    for _ in range(500):
        try:
            return work()
        except SeineError as error:
            if "try again" not in (error.hint or ""):
                raise
    raise AssertionError("never succeeded")


def _register(catalog: Catalog, name: str, placements: list[Placement]) -> None:
    with catalog.change() as c:
        c.add_queries([StoredQuery(name, "", None)])
        c.enter(placements)


def _drop(catalog: Catalog, name: str) -> None:
    with catalog.change() as c:
        c.drop_query(name)


def test_leaving_keeps_the_query(catalog: Catalog) -> None:
    add(catalog, [Placement("q", BID, (over(1),)), Placement("r", BID, (over(1),))])
    with catalog.change() as c:
        c.leave(["q", "nobody"])
        c.leave(["q"])
        assert c.query("q") is not None
        assert c.index.equivalent(BID, (over(1),)).queries == ("r",)


def test_only_registered_queries_enter(catalog: Catalog) -> None:
    with pytest.raises(SeineError, match="no query named 'ghost'"), catalog.change() as c:
        c.enter([Placement("ghost", BID, (over(1),))])
    with pytest.raises(ValueError, match="no layer"):
        Placement("q", BID, (), "sideways")
    with pytest.raises(ValueError, match="at least one atom"):
        Placement("q", BID, ((),))


def test_hostile_conditions_come_back(catalog: Catalog) -> None:
    texts = ['it\'s "q"; DROP TABLE seine_query; --', "\0", "%s :x ?", "x" * 10_000, "\U0001f41f"]
    sets = [((Atom(Column(0, STRING), "eq", Literal(value, STRING)),),) for value in texts]
    add(catalog, [Placement(f"q{i}", BID, predicates) for i, predicates in enumerate(sets)])
    with catalog.read() as r:
        assert [r.index.equivalent(BID, predicates).predicates for predicates in sets] == sets


def test_finer_and_coarser_groupings(catalog: Catalog) -> None:
    a, b, c = (Column(index, BIGINT) for index in range(3))
    weaker, few = (over(1),), (over(2),)
    groups = {"a": [a], "ab": [a, b], "abc": [a, b, c], "c": [c], "": []}
    add(catalog, [grouping(name or "none", BID, weaker, keys) for name, keys in groups.items()])
    with catalog.read() as r:
        grouped = grouping("new", BID, weaker, [b, a])
        assert r.index.equivalent(grouped.topology, grouped.predicates).queries == ("ab",)
        finer = r.index.stronger(grouped.topology, grouped.predicates)
        coarser = r.index.weaker(grouped.topology, grouped.predicates)
        assert ({m.queries[0] for m in finer.matches}, finer.complete) == ({"abc"}, True)
        assert ({m.queries[0] for m in coarser.matches}, coarser.complete) == ({"a", "none"}, True)
        other = grouping("new", BID, few, [a])
        assert r.index.equivalent(other.topology, other.predicates) is None


def test_set_operators_over_fewer_and_more_inputs(catalog: Catalog) -> None:
    operations = [
        ("ab", "union", ["a", "b"]),
        ("abc", "union", ["c", "b", "a"]),
        ("all", "union_all", ["a", "b"]),
        ("minus", "except", ["a", "b"]),
        ("twice", "except", ["a", "c", "b"]),
    ]
    add(catalog, [set_operation(*one) for one in operations])
    with catalog.read() as r:

        def ask(kind: str, inputs: list[str]) -> list[list[str]]:
            operation = set_operation("new", kind, inputs)
            same = r.index.equivalent(operation.topology, operation.predicates)
            finds = [r.index.weaker, r.index.stronger]
            others = [find(operation.topology, operation.predicates).matches for find in finds]
            return [
                list(same.queries) if same else [],
                *([m.queries[0] for m in ranked] for ranked in others),
            ]

        assert ask("union", ["b", "a"]) == [["ab"], [], ["abc"]]
        assert ask("union", ["a", "b", "c", "d"]) == [[], ["abc", "ab"], []]
        assert ask("except", ["a", "b", "c"]) == [["twice"], ["minus"], []]
        assert ask("except", ["b", "a"]) == [[], [], []]
    with pytest.raises(ValueError, match="no set operator"):
        set_operation("q", "xor", ["a"])


def test_only_indexes_are_read(catalog: Catalog) -> None:
    if catalog._engine.dialect.name != "sqlite":
        pytest.skip("its plans depend on what has been analysed")
    conditions = RandomConditions(3)
    add(catalog, [Placement(f"q{i}", BID, conditions.predicates()) for i in range(200)])
    statements: list[tuple[str, Any]] = []

    @event.listens_for(catalog._engine, "before_cursor_execute")
    def note(_c: Any, _cursor: Any, statement: str, values: Any, _context: Any, many: bool) -> None:
        statements.append((statement, values[0] if many else values))

    with catalog.change() as c:
        for _ in range(10):
            predicates = conditions.predicates()
            (
                c.index.equivalent(BID, predicates),
                c.index.weaker(BID, predicates),
                c.index.stronger(BID, predicates),
            )
        c.leave(["q1", "q2", "q3"])
        event.remove(catalog._engine, "before_cursor_execute", note)
        assert len(statements) > 100
        plans = set()
        for statement, values in statements:
            if statement.startswith(("SELECT", "DELETE")):
                plan = c._connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values)
                plans.update(row[3] for row in plan)
    scans = {line for line in plans if line.startswith("SCAN")}
    assert all(re.match(r"SCAN (\(|CONSTANT|anon_)", line) for line in scans), scans
    assert any("SEARCH seine_index_predicate_set USING" in line for line in plans)


def steps_at(catalog: Catalog, count: int) -> list[int]:
    """The steps of searches among so many sets, that all have something to do with what is asked."""
    random = RandomConditions(count).random
    draw = random.randrange

    def predicates() -> PredicateSet:
        return (equal(draw(20), 2), over(draw(10**6), 0), over(draw(10**6), 1))[draw(2) : draw(2, 4)]

    add(catalog, [Placement(f"n{count}_{i}", BID, predicates()) for i in range(count)])
    with catalog.read() as r:
        return [
            find(BID, predicates()).steps for _ in range(30) for find in (r.index.weaker, r.index.stronger)
        ]


def test_steps_do_not_grow_with_the_queries(catalog: Catalog) -> None:
    few, many = steps_at(catalog, 200), steps_at(catalog, 3_000)
    assert sum(many) < 2.5 * sum(few)
    most = weaker_module.MOST_SETS_FOLLOWED * (weaker_module.MOST_CONTINUATIONS + 1) * 9 * 3
    assert max(many) < most + 9 * stronger_module.MOST_MEMBERS * 4


def test_definitions_tell_atoms_apart() -> None:
    seven = over(7)[0]
    assert holds(seven, 7) and not holds(seven, 6) and not holds(seven, None)
    assert set_implies((over(20), equal(1, 3)), (over(10),)) and not set_implies((over(10),), (over(20),))
