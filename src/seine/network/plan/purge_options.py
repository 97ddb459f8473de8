"""Plan parameters of purging that a query may set for itself: which schemes, how eagerly, for which aim.

    WITH (schemes = 'fewest')      joins listen to the smallest set of schemes that keeps the plan safe
    WITH (purge = 'lazy')          punctuations gather before they free what they finish; a number: so many
    WITH (objective = 'memory')    of safe plans the one that holds least, instead of the one that meets least

None changes an answer. A query without them is built as the run or the service says. A join that several
queries share purges as the first of them asked.

Cites: SAFETY 5.2 (plan parameters I and II; optimising for memory or throughput)
"""

from __future__ import annotations

from dataclasses import replace

from seine.algebra.plan import Query
from seine.network.plan.strategy import Strategy

EAGER, LAZY = "eager", "lazy"


def with_purging(
    strategy: Strategy, purge: object = None, schemes: object = None, objective: object = None
) -> Strategy:
    """A strategy with those parameters that are given.

    >>> with_purging(Strategy(), 500).purge_batch, with_purging(Strategy(lazy=True), "eager").lazy
    (500, False)
    """
    if purge is not None:
        batch = purge if isinstance(purge, int) else 0
        strategy = replace(strategy, lazy=purge != EAGER, purge_batch=batch)
    if schemes is not None:
        strategy = replace(strategy, fewest_schemes=schemes == "fewest")
    return strategy if objective is None else replace(strategy, objective=str(objective))


def strategy_of(query: Query, strategy: Strategy) -> Strategy:
    """The strategy by which a query is built."""
    names = ("purge", "schemes", "objective")
    if not any(name in names for name, _ in query.options):
        return strategy
    return with_purging(strategy, *(query.option(name) for name in names))
