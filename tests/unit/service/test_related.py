"""What queries have in common is found when they are registered, and later; and only what is so."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from seine.catalog.index import index_tables as t
from seine.errors import SeineError
from seine.optimizer.block import Blocks
from seine.optimizer.canonical.implies import implies
from seine.service.indexing import placements
from tests.support.seeds import seeds
from tests.support.service_rig import Rig, rig_of_two_streams


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    yield from rig_of_two_streams(tmp_path)


def related_to(rig: Rig, name: str, select_: str) -> list[str]:
    """What is said of a query when it is registered."""
    relations = rig.service.relations.of_change(rig.register(f"CREATE QUERY {name} AS {select_};"))
    assert relations is not None
    return [str(one) for one in relations[name]]


def later(rig: Rig, name: str) -> list[str]:
    return [one["text"] for one in rig.service.related(name)["related"]]


def entered(rig: Rig) -> dict[str, int]:
    """How many rows each table of the index has."""
    with rig.service._catalog.read() as r:
        tables = [
            t.topology,
            t.term,
            t.literal,
            t.clause,
            t.alternative,
            t.predicate_set,
            t.set_clause,
            t.entry,
        ]
        return {
            table.name: r._connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in tables
        }


def test_selections_are_equal_weaker_and_stronger(rig: Rig) -> None:
    assert related_to(rig, "q1", "SELECT a FROM s WHERE a > 5") == []
    assert related_to(rig, "q2", "SELECT a + 1 AS b FROM s WHERE NOT a <= 5") == ["s: equal to q1"]
    assert related_to(rig, "q3", "SELECT a FROM s WHERE a > 7 AND ts < 3") == ["s: covered by q1, q2"]
    assert related_to(rig, "q4", "SELECT a FROM s WHERE a >= 1") == ["s: covers q1, q2, q3"]
    assert related_to(rig, "q5", "SELECT a FROM t WHERE a >= 1") == []
    assert related_to(rig, "q6", "SELECT a FROM s WHERE a < 0") == []
    assert later(rig, "Q1") == ["s: equal to q2; covered by q4; covers q3"]


def test_queries_of_one_script_know_one_another(rig: Rig) -> None:
    outcome = rig.register(
        "CREATE QUERY p AS SELECT a FROM s WHERE a > 1; CREATE QUERY q AS SELECT a FROM s WHERE a > 2;"
    )
    relations = rig.service.relations.of_change(outcome)
    assert [str(one) for one in relations["p"]] == ["s: covers q"]
    assert [str(one) for one in relations["q"]] == ["s: covered by p"]


def test_of_many_queries_nothing_is_said_at_once(rig: Rig) -> None:
    script = "".join(f"CREATE QUERY q{i} AS SELECT a FROM s WHERE a > {i};" for i in range(21))
    assert rig.service.relations.of_change(rig.register(script)) is None
    assert later(rig, "q20") == ["s: covered by q19, q18, q17, q16, q15"]


def test_mirrored_self_joins_meet(rig: Rig) -> None:
    join = "SELECT x.a FROM s x, s y WHERE x.a = y.a AND "
    assert related_to(rig, "j1", join + "x.ts > y.ts AND x.ts <= y.ts + 10") == []
    assert related_to(rig, "j2", join + "x.ts < y.ts AND y.ts - 20 <= x.ts") == ["s, s: covers j1"]
    assert related_to(rig, "j3", join + "y.ts > x.ts AND x.ts >= y.ts - 10") == [
        "s, s: equal to j1; covered by j2"
    ]
    looser = related_to(rig, "j4", "SELECT x.a FROM s x, s y WHERE x.a = y.a")
    assert looser == ["s, s: covers j2, j1, j3"]


def test_tables_have_one_order(rig: Rig) -> None:
    assert related_to(rig, "p", "SELECT s.a FROM s, t WHERE s.a = t.a AND t.b > 3") == []
    assert related_to(rig, "q", "SELECT t.ts FROM t, s WHERE t.a = s.a AND t.b > 5") == ["s, t: covered by p"]


def test_aggregates_by_finer_and_coarser_keys(rig: Rig) -> None:
    group = "SELECT count(*) AS n FROM t WHERE a > 0 GROUP BY "
    assert related_to(rig, "g1", group + "a") == []
    assert related_to(rig, "g2", group + "b, a") == ["t: equal to g1", "finer than g1"]
    assert related_to(rig, "g3", group + "b")[1:] == ["coarser than g2"]
    assert related_to(rig, "g4", group.replace("count(*)", "sum(ts)") + "a, b")[1:] == [
        "the groups of g2; finer than g1, g3"
    ]
    assert related_to(rig, "g5", group.replace("a > 0", "a > 1") + "a") == ["t: covered by g1, g2, g3, g4"]


def test_conditions_on_groups(rig: Rig) -> None:
    having = "SELECT a, count(*) AS n FROM t GROUP BY a HAVING count(*) > "
    related_to(rig, "h1", having + "3")
    assert related_to(rig, "h2", having + "5") == [
        "t: equal to h1",
        "the groups of h1",
        "its group: covered by h1",
    ]


def test_set_operators_by_their_inputs(rig: Rig) -> None:
    one, two, three = (f"SELECT a + {i} AS a FROM s" for i in (1, 2, 3))
    related_to(rig, "u1", f"{one} UNION {two}")
    assert related_to(rig, "u2", f"{two} UNION {one}")[-1] == "the union of u1"
    assert related_to(rig, "u3", f"{three} UNION {two} UNION {one}")[-1] == "more inputs than u1, u2"
    related_to(rig, "d1", "SELECT DISTINCT a + 1 AS a FROM s")
    assert later(rig, "d1")[-1] == "fewer inputs than u1, u2, u3"
    related_to(rig, "e1", f"{one} EXCEPT {two}")
    assert related_to(rig, "e2", f"{one} EXCEPT {two}")[-1] == "the difference of e1"
    assert "difference" not in " ".join(related_to(rig, "e3", f"{two} EXCEPT {one}"))


def test_what_does_not_run_is_not_found(rig: Rig) -> None:
    nothing = entered(rig)
    for name in ("p", "q", "r"):
        related_to(rig, name, "SELECT a FROM s WHERE a > 5 AND (ts = 1 OR a = 7)")
    rig.service.registrar.drop("q")
    rig.service.registrar.pause("r")
    assert later(rig, "p") == [] and later(rig, "r") == ["s: equal to p"]
    rig.crash()
    assert later(rig, "p") == []
    rig.service.registrar.resume("r")
    assert later(rig, "p") == ["s: equal to r"]
    rig.register("CREATE QUERY p AS SELECT a FROM s WHERE a > 4;", replace=True)
    assert later(rig, "r") == ["s: covered by p"]
    rig.register("DROP QUERY p; DROP QUERY r;")
    assert entered(rig) == nothing and not any(nothing.values())


def test_a_change_that_fails_enters_nothing(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    related_to(rig, "q", "SELECT a FROM s WHERE a > 5")
    before = entered(rig)

    def fail(*_: object, **__: object) -> None:
        raise SeineError("the catalog's database refuses: disk full")

    with monkeypatch.context() as patch:
        patch.setattr(
            "seine.catalog.catalog_change.CatalogChange.save_version", fail
        )  # the last step of the transaction
        with pytest.raises(SeineError, match="disk full"):
            rig.register("DROP QUERY q; CREATE QUERY p AS SELECT a FROM s WHERE a > 6;")
    assert entered(rig) == before
    rig.crash()
    assert entered(rig) == before
    assert related_to(rig, "p", "SELECT a FROM s WHERE a > 6") == ["s: covered by q"]


# ---- at random, against the definition


def _terms(draw: random.Random, aliases: list[str]) -> list[str]:
    """Conditions that connect the aliases, and a few more."""
    linked = [f"{one}.a = {two}.a" for one, two in pairwise(aliases)]
    for _ in range(draw.randrange(1, 4)):
        one, two = draw.choice(aliases), draw.choice(aliases)
        bound = draw.randrange(1, 4)
        linked.append(
            draw.choice(
                [f"{one}.b > {bound}", f"{one}.b <= {bound}", f"{one}.a = {bound}"]
                if one == two
                else [f"{one}.ts <= {two}.ts + {bound}", f"{one}.b < {two}.b", f"{one}.ts > {two}.ts"]
            )
        )
    return linked


def _query(draw: random.Random, aliases: list[str], terms: list[str]) -> str:
    tables, said = list(aliases), list(terms)
    draw.shuffle(tables)
    draw.shuffle(said)
    return (
        f"SELECT {aliases[0]}.a FROM {', '.join(f't {each}' for each in tables)} WHERE {' AND '.join(said)}"
    )


def _computed(rig: Rig, name: str) -> Any:
    query = rig.service.published.view.find(name).query
    plan = rig.service.registrar.network.plan_of(query)
    (placement,) = placements(name, plan, Blocks())
    return placement


@seeds(4)
def test_a_query_written_anew_is_found_equal(rig: Rig, seed: int) -> None:
    draw = random.Random(seed)
    for number in range(8):
        aliases = ["x", "y", "z"][: draw.randrange(1, 4)]
        terms = _terms(draw, aliases)
        rig.register(f"CREATE QUERY p{number} AS {_query(draw, aliases, terms)};")
        names = draw.choice(list(permutations(aliases)))
        renamed = dict(zip(aliases, names, strict=True))
        said = ["".join(renamed.get(letter, letter) for letter in term) for term in terms]
        rig.register(f"CREATE QUERY q{number} AS {_query(draw, list(names), said)};")
        (related_query,) = rig.service.relations.of(f"q{number}")[1]
        assert f"p{number}" in related_query.equal, (terms, said)


@seeds(4)
def test_what_is_found_is_so(rig: Rig, seed: int) -> None:
    draw = random.Random(100 + seed)
    names = [f"q{number}" for number in range(30)]
    for name in names:
        aliases = ["x", "y"][: draw.randrange(1, 3)]
        rig.register(f"CREATE QUERY {name} AS {_query(draw, aliases, _terms(draw, aliases))};")
    computed = {name: _computed(rig, name) for name in names}
    pairs = 0
    for name, placed in computed.items():
        for one in rig.service.relations.of(name)[1]:
            for other in (*one.equal, *one.weaker, *one.stronger):
                theirs = computed[other]
                assert theirs.topology == placed.topology
                if other not in one.stronger:
                    assert implies(placed.predicates, theirs.predicates)
                if other not in one.weaker:
                    assert implies(theirs.predicates, placed.predicates)
                pairs += 1
    assert pairs > 10
