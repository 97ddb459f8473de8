"""Every rule, executed: plans before and after, and the same answers on random plans."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from seine.algebra.expressions import Call, Column
from seine.algebra.plan import (
    Aggregate,
    AggregateCall,
    Distinct,
    Join,
    Plan,
    Project,
    Scan,
    Select,
    SetKind,
    SetOperation,
    UnionAll,
)
from seine.algebra.plan import walk as walk_plan
from seine.algebra.plan_text import describe, print_plan
from seine.algebra.serialise import plan_from_json, plan_to_json
from seine.algebra.types import BIGINT, INT
from seine.optimizer.equalities import connects, one_type
from seine.optimizer.optimise import NEEDED_OPERATORS, RULES, optimise
from seine.optimizer.rules.drop_empty_branches import drop_empty_branches
from seine.optimizer.rules.merge_groups import merge_groups
from seine.optimizer.rules.merge_projections import merge_projections
from seine.optimizer.rules.order_joins import order_joins
from seine.optimizer.rules.prune_columns import prune_columns
from seine.optimizer.rules.push_selections import push_selections
from seine.optimizer.rules.simplify_unions import simplify_unions
from seine.optimizer.rules.state_equalities import state_equalities
from tests.support.front_end import plan_of
from tests.support.plan_interpreter import SOURCES, A, RandomPlans, answer, both, col, holds, lit, stream
from tests.support.seeds import seed_range

a, b, c, r = SOURCES
gt = lambda left, right: holds("gt", left, right)  # noqa: E731
eq = lambda left, right: holds("eq", left, right)  # noqa: E731


def lines(text: str) -> str:
    return "\n".join(line[4:] for line in text.strip("\n").rstrip().split("\n"))


@pytest.mark.parametrize(
    "rule",
    [*(rule for rule in dict.fromkeys(RULES) if rule is not drop_empty_branches), optimise],
    ids=lambda rule: rule.__name__,
)
def test_a_rule_never_changes_an_answer(rule: Callable[[Plan], Plan]) -> None:
    changed = answered = 0
    for seed in seed_range(300):
        random = RandomPlans(seed)
        plan = random.regrouped() if rule in (merge_groups, optimise) and seed % 3 == 0 else random.plan()
        better = rule(plan)
        assert better.schema == plan.schema, print_plan(plan)
        changed += better != plan
        for _ in range(2):
            data = random.data()
            expected = answer(plan, data)
            assert answer(better, data) == expected, f"{print_plan(plan)}\n--\n{print_plan(better)}"
            answered += bool(expected)
    assert changed > (2 if rule is state_equalities else 5) and answered > 150


@pytest.mark.parametrize("rule", NEEDED_OPERATORS, ids=lambda rule: rule.__name__)
def test_a_rule_leaves_plans_alone_that_have_none_of_the_operators_that_it_needs(
    rule: Callable[[Plan], Plan],
) -> None:
    lacking = 0
    for seed in seed_range(300):
        for plan in walk_plan(RandomPlans(seed).plan()):
            if NEEDED_OPERATORS[rule].isdisjoint({type(part) for part in walk_plan(plan)}):
                lacking += 1
                assert rule(plan) == plan, print_plan(plan)
    assert lacking > 100


def test_optimising_twice_changes_nothing_more() -> None:
    for seed in seed_range(100):
        once = optimise(RandomPlans(seed).plan())
        assert optimise(once) == once, print_plan(once)


def test_plans_print_to_json_and_back() -> None:
    for seed in seed_range(100):
        plan = RandomPlans(seed).plan()
        assert plan_from_json(plan_to_json(plan)) == plan


def test_push_selections_merges_them() -> None:
    plan = Select(Select(a, gt(col(0), lit(1))), gt(col(1), lit(2)))
    assert push_selections(plan) == Select(a, both(gt(col(0), lit(1)), gt(col(1), lit(2))))


def test_merge_projections() -> None:
    inner = Project(a, (Call("add", (col(0), lit(1)), BIGINT),), ("k1",))
    outer = Project(inner, (Call("add", (col(0), col(0)), BIGINT),), ("twice",))
    assert print_plan(merge_projections(outer)) == "Project k + 1 + (k + 1) AS twice\n  Scan a AS a"


def test_projections_that_would_explode_stay_apart() -> None:
    plan: Plan = a
    for _ in range(40):
        plan = Project(plan, (Call("add", (col(0), col(0)), BIGINT),), ("k",))
    merged = optimise(Select(plan, gt(col(0), lit(1))))
    assert 1 < sum(isinstance(part, Project) for part in walk_plan(merged)) < 40


def test_push_selections_below_joins_and_into_branches() -> None:
    union = UnionAll((a, b))
    plan = Select(Join(union, c), both(gt(col(0), lit(1)), gt(col(4), lit(2)), eq(col(0), col(3))))
    assert print_plan(push_selections(plan)) == lines("""
    Join k = k_2
      UnionAll
        Select k > 1
          Scan a AS a
        Select k > 1
          Scan b AS b
      Select x > 2
        Scan c AS c
    """)


def test_push_selections_below_aggregates_on_keys_alone() -> None:
    calls = (AggregateCall("count_all", (), BIGINT),)
    grouped = Aggregate(a, (col(0),), calls, ("k", "n"))
    plan = Select(grouped, both(gt(col(0), lit(1)), gt(col(1), lit(2))))
    assert print_plan(push_selections(plan)) == lines("""
    Select n > 2
      Aggregate k, COUNT(*) AS n
        Select k > 1
          Scan a AS a
    """)
    whole = Select(Aggregate(a, (), calls, ("n",)), gt(lit(0), lit(1)))
    assert push_selections(whole) == whole


def test_order_joins_connects_by_equalities() -> None:
    block = Join(Join(Join(r, a), b), c)  # r: 0-1, a: 2-4, b: 5-7, c: 8-10
    conditions = both(eq(col(2), col(8)), eq(col(9), col(5)), eq(col(0), col(3)), gt(col(3), col(6)))
    plan = Project(Select(block, conditions), (col(2), col(6), col(1)), ("k", "x", "y"))
    assert print_plan(optimise(plan)) == lines("""
    Project k, x_2 AS x, y
      Join k_2 = x
        Project k, x, x_3 AS x
          Join x > x_3 AND x_2 = k_2
            Project k, x, x_2 AS x
              Join k = k_2
                Project k, x
                  Scan a AS a
                Project k, x
                  Scan c AS c
            Project k, x
              Scan b AS b
        Lookup r AS r
    """)


def test_order_joins_reaches_streams_through_relations() -> None:
    block = Join(Join(a, b), r)  # a and b meet only through r
    plan = Select(block, both(eq(col(0), col(6)), eq(col(3), col(6))))
    ordered = order_joins(push_selections(plan))
    joins = [part for part in walk_plan(ordered) if isinstance(part, Join)]
    assert [join.right for join in joins] == [b, r]


def test_simplify_unions() -> None:
    nested = Distinct(UnionAll((Distinct(UnionAll((a, b))), c)))
    assert simplify_unions(nested) == Distinct(UnionAll((a, b, c)))
    assert simplify_unions(SetOperation(Distinct(a), Distinct(b))) == SetOperation(a, b)
    assert simplify_unions(UnionAll((Distinct(a), b))) == UnionAll((Distinct(a), b))


def test_merge_groups() -> None:
    count, most = AggregateCall("count_all", (), BIGINT), AggregateCall("max", (col(2),), BIGINT)
    total, top = AggregateCall("sum", (col(2),), BIGINT), AggregateCall("max", (col(3),), BIGINT)
    finer = Aggregate(a, (col(0), col(1)), (count, most), ("k", "x", "n", "m"))
    coarser = Aggregate(finer, (col(0),), (total, top), ("k", "n", "m"))
    assert merge_groups(coarser) == Aggregate(a, (col(0),), (count, most), ("k", "n", "m"))
    without_keys = Aggregate(finer, (), (total,), ("n",))  # NULL over no tuples, where a count is 0
    of_some = Aggregate(Select(finer, gt(col(2), lit(1))), (col(0),), (total,), ("k", "n"))
    assert [merge_groups(plan) for plan in (without_keys, of_some)] == [without_keys, of_some]
    kept = optimise(coarser, final=True)  # a row of it begins when the finer groups are final
    assert sum(isinstance(part, Aggregate) for part in walk_plan(kept)) == 2


def test_intersections_are_of_sets() -> None:
    first, second = (Project(plan, (col(0),), (name,)) for plan, name in ((a, "x"), (b, "y")))
    plans = [
        optimise(SetOperation(*sides, SetKind.INTERSECT)) for sides in ((first, second), (second, first))
    ]
    assert [plan.schema[0].name for plan in plans] == ["x", "y"]
    one, other = (part for plan in plans for part in walk_plan(plan) if isinstance(part, SetOperation))
    assert one == other
    assert simplify_unions(SetOperation(first, first, SetKind.INTERSECT)) == Distinct(first)


def test_prune_columns_keeps_selections_whole() -> None:
    plan = Project(Join(Select(a, gt(col(1), lit(1))), b, eq(col(0), col(3))), (col(2),), ("ts",))
    assert print_plan(prune_columns(plan)) == lines("""
    Project ts
      Join k = k_2
        Project k, ts
          Select x > 1
            Scan a AS a
        Project k
          Scan b AS b
    """)


def test_prune_columns_drops_aggregates_nobody_reads() -> None:
    calls = (AggregateCall("count_all", (), BIGINT), AggregateCall("sum", (col(1),), BIGINT))
    plan = Project(Aggregate(a, (col(0),), calls, ("k", "n", "s")), (col(1),), ("n",))
    assert print_plan(prune_columns(plan)) == lines("""
    Project n
      Aggregate k, COUNT(*) AS n
        Project k
          Scan a AS a
    """)


def test_a_stream_alias_is_no_part_of_an_answer() -> None:
    assert optimise(Scan(A, "other")).schema == Scan(stream("a"), "a").schema


def test_equi_keys_are_brought_to_one_type() -> None:
    narrow, wide = Column(0, INT), Column(1, BIGINT)
    left, right = one_type(narrow, wide)
    assert describe(left, ["n"]) == "CAST(n AS BIGINT)"
    assert right == wide and one_type(wide, wide) == (wide, wide)


def test_expressions_of_one_side_each_are_keys() -> None:
    def modulo(index: int) -> Call:
        return Call("mod", (col(index), lit(6)), BIGINT)

    def is_left(index: int) -> bool:
        return index < 3

    assert connects(eq(modulo(3), modulo(0)), is_left) and connects(eq(modulo(0), modulo(3)), is_left)
    assert not connects(eq(col(0), Call("add", (col(0), col(3)), BIGINT)), is_left)
    assert not connects(eq(col(3), lit(3)), is_left) and not connects(eq(col(0), col(1)), is_left)
    assert not connects(gt(col(0), col(3)), is_left)


def test_a_branch_that_asks_for_a_null_that_may_be_stays() -> None:
    outer = plan_of("SELECT s.a FROM s LEFT JOIN t ON s.a = t.a WHERE t.e IS NULL")
    assert any(isinstance(part, UnionAll) for part in walk_plan(optimise(outer)))
    full = plan_of("SELECT s.c FROM s FULL JOIN t ON s.a = t.a WHERE s.a IS NULL AND t.a IS NULL")
    assert drop_empty_branches(push_selections(full)) != push_selections(full)
