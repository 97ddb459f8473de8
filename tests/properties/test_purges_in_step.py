"""The verdict and the network are in step: what the check calls freed has a purge in the built network, and
what it calls kept has none.

Nothing runs here. What operators free is read from the nodes, by `tests.support.built_purges`.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

from seine.algebra.expressions import Call, walk
from seine.algebra.plan import Query
from seine.network.network import Network, build_network
from seine.network.plan.strategy import CONFIGURATIONS
from seine.optimizer.block import block_of
from seine.optimizer.closing_times import implied_bounds
from seine.optimizer.optimise import optimise
from seine.safety.states.check_plan import judge
from seine.safety.states.item_facts import Sources
from seine.safety.states.operator_states import State, states_of
from tests.generators.freed_queries import ENDS, NAMES, random_group_query, random_join_script
from tests.support.built_purges import groups_released, streams_freed_by_joins
from tests.support.freed_runs import Stream, query_of, random_schemes, write_script
from tests.support.seeds import seed_range, seeds

STRATEGIES = ("all", "two-by-two", "at-once", "no-canonical", "match-plan", "off")
GROUPS = ("groups", "distinct rows", "rows of EXCEPT")


def built(query: Query, strategy: str) -> Network:
    return build_network([query], CONFIGURATIONS[strategy])


@seeds(5)
def test_joins_free_just_the_streams_that_the_verdict_names(seed: int, tmp_path: Path) -> None:
    for number in range(6):
        rng = Random(6 * seed + number)
        query = query_of(random_join_script(rng, tmp_path / str(number)))
        freed, judged = streams_freed_by_joins(built(query, rng.choice(STRATEGIES)), query), judge(query.plan)
        assert all(freed[name] for name in judged if judged[name]), query.text
        assert freed == judged or is_read_by_joins_alone(query), query.text


def is_read_by_joins_alone(query: Query) -> bool:
    """Whether joins see more in a condition than the check counts on, and free rows that it calls kept.

    So it is where a time is bounded by a sum of columns, some of which keys make equal to others; and where a
    column is compared through casts, by which only some joins can route.
    """
    conditions = block_of(query.plan).conditions
    sums = any(len(bound.terms) > 1 for condition in conditions for bound in implied_bounds(condition))
    parts = [part for condition in conditions for part in walk(condition)]
    return sums or any(isinstance(part, Call) and part.name == "cast" for part in parts)


def random_groups(rng: Random, folder: Path) -> Query:
    streams = {name: Stream(random_schemes(rng), rng.choice(ENDS)) for name in NAMES}
    return query_of(write_script(rng, folder, streams, random_group_query(rng)))


@seeds(5)
def test_groups_are_released_just_where_the_verdict_counts_on_it(seed: int, tmp_path: Path) -> None:
    for number in range(6):
        query = random_groups(Random(6 * seed + number), tmp_path / str(number))
        states = [state for state in states_of(optimise(query.plan), Sources()) if state.what in GROUPS]
        counted_on = [state.freed and is_by_punctuations(state) for state in states]
        released = groups_released(built(query, "all"), query)
        assert sorted(released) == sorted(counted_on), query.text


def is_by_punctuations(state: State) -> bool:
    return "window" not in state.why() and "never many" not in state.why()


def test_some_are_freed_by_punctuations_and_others_are_not(tmp_path: Path) -> None:
    drawn = [query_of(random_join_script(Random(seed), tmp_path / f"j{seed}")) for seed in seed_range(40)]
    freed = [is_freed for query in drawn for is_freed in judge(query.plan).values()]
    assert 20 < sum(freed) < len(freed) - 20
    grouped = [random_groups(Random(seed), tmp_path / f"g{seed}") for seed in seed_range(40)]
    released = [is_freed for query in grouped for is_freed in groups_released(built(query, "all"), query)]
    assert 5 < sum(released) < len(released) - 5
