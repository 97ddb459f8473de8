"""Blocks that say the same of columns share one search for keys; those that do not are told apart."""

from __future__ import annotations

from random import Random

from seine.algebra.expressions import Expression
from seine.algebra.functions import resolve_call
from seine.network.joins.join_keys import BlockKeys, ItemRows
from seine.network.joins.key_search import JoinKeys, key_search
from seine.optimizer.block import Block
from seine.optimizer.equalities import is_equality
from tests.support.plan_interpreter import SOURCES, col, holds, lit
from tests.support.seeds import seed_range

a, b, c, _ = SOURCES
WIDTH = len(a.schema)


def keys_of(*conditions: Expression) -> BlockKeys:
    """The keys of a, b and c, each with the columns of its stream."""
    places = tuple(range(WIDTH))
    bases = [ItemRows(number, None, WIDTH, places) for number in (1, 2, 3)]
    return BlockKeys(Block((a, b, c), conditions, ()), bases)


def column(item: int, place: int) -> Expression:
    return col(item * WIDTH + place)


def plus(one: Expression, by: int) -> Expression:
    return resolve_call("add", [one, lit(by)])


def texts(keys: JoinKeys) -> list[tuple[str, str]]:
    return [(str(left), str(right)) for left, right in zip(keys.left, keys.right, strict=True)]


def fresh(*conditions: Expression) -> BlockKeys:
    """The same, searched as if for the first time."""
    key_search.cache_clear()
    return keys_of(*conditions)


def test_constants_that_keys_do_not_read_and_the_order_of_conditions_do_not_matter() -> None:
    key_search.cache_clear()
    for number in range(5):
        conditions = [
            holds("eq", column(0, 0), column(1, 0)),
            holds("eq", column(2, 0), column(1, 0)),
            holds("gt", column(0, 1), lit(number)),
        ]
        Random(number).shuffle(conditions)
        keys = keys_of(*conditions)
        assert texts(keys.of((0,), 2)) == [("#0", "#0")]
        both = [keys.of((0,), 1), keys.of((0, 1), 2)]
        assert sorted(keys.decided(both)) == [i for i, one in enumerate(conditions) if is_equality(one)]
    assert key_search.cache_info().misses == 1


def test_a_constant_of_a_key_is_part_of_it() -> None:
    shifted = [keys_of(holds("eq", column(0, 0), plus(column(1, 0), by))).of((0,), 1) for by in (1, 2)]
    assert texts(shifted[0]) != texts(shifted[1])
    fixed = [keys_of(holds("eq", column(0, 0), lit(3)), holds("eq", column(1, 0), lit(n))) for n in (3, 4)]
    assert [bool(keys.of((0,), 1).left) for keys in fixed] == [True, False]
    bounded = [
        keys_of(
            holds("le", column(0, 0), plus(column(1, 0), 5)), holds("ge", column(0, 0), plus(column(1, 0), n))
        )
        for n in (5, 4)
    ]
    assert [bool(keys.of((0,), 1).left) for keys in bounded] == [True, False]


def test_what_is_remembered_is_what_is_found() -> None:
    keyed = 0
    for seed in seed_range(60):
        chance = Random(seed)
        conditions = []
        for _ in range(chance.randint(1, 4)):
            left, right = (column(item, chance.randint(0, 1)) for item in chance.sample(range(3), 2))
            other = chance.choice([right, plus(right, chance.randint(1, 2)), lit(chance.randint(0, 1))])
            conditions.append(holds(chance.choice(["eq", "eq", "le", "ge"]), left, other))
        for items, item in (((0,), 1), ((1,), 0), ((0, 1), 2), ((2, 1), 0)):
            remembered, searched = keys_of(*conditions), fresh(*conditions)
            one, other = remembered.of(items, item), searched.of(items, item)
            assert texts(one) == texts(other), seed
            assert remembered.decided([one]) == searched.decided([other]), seed
            keyed += bool(one.left)
    assert keyed > 20
