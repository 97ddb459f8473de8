"""Sharing strategies: switches of the optimiser and builder, which benchmarks compare and tests turn.

No switch changes an answer.

Cites: ARGUS 4, 5.2, 5.3, Table 1 (the configurations)

Plan parameters of purging that a query may set for itself: which schemes, how eagerly, for which aim.

    WITH (schemes = 'fewest')      joins listen to the smallest set of schemes that keeps the plan safe
    WITH (purge = 'lazy')          punctuations gather before they free what they finish; a number: so many
    WITH (objective = 'memory')    of safe plans the one that holds least, instead of the one that meets least

None changes an answer. A query without them is built as the run or the service says. A join that several
queries share purges as the first of them asked.

Cites: SAFETY 5.2 (plan parameters I and II; optimising for memory or throughput)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from seine.algebra.plan import Query

BY_COST, AT_ONCE, TWO_BY_TWO = "cost", "at once", "two by two"


@dataclass(frozen=True)
class Strategy:
    """What the optimiser and the builder of the network may do."""

    share: bool = True  # off: every query has nodes of its own
    replayed: bool = False  # on: a query is given rows of the past; also deletions are resolved for it alone
    joins: bool = True  # off: joins are not shared, selections are (NonJoinS)
    canonical: bool = True  # off: predicates are compared as they were written (NonCanon)
    search: bool = True  # off: the plan that is best for the query alone is matched bottom-up (MatchPlan)
    breakers: bool = True  # off: aggregates and set operators are not shared, what feeds them is
    transitivity: bool = True  # infer conditions from others
    order: bool = True  # off: joins in the order of the text, equi-joins first, whatever statistics say
    materialise: float = 0.9  # a condition that lets more than this share pass is not asked before a join
    plans: str = (
        BY_COST  # how streams that punctuations free are joined: at once, unless estimates favour a tree
    )
    objective: str = "throughput"  # of a plan of such joins: or "memory"
    lazy: bool = False  # joins let punctuations gather before they free what these finish
    purge_batch: int = 0  # how many gather; 0: as many as a share of the rows that are held
    fewest_schemes: bool = False  # joins listen to the smallest set of schemes that keeps a plan safe
    regroup: float = 0.5  # finer groups of which more change for each row are not regrouped; 0: none
    panes: int = 4  # windows in which a tuple is counted one by one; for more, final ones are made of panes


CONFIGURATIONS = {
    "all": Strategy(),
    "no-join-sharing": Strategy(joins=False),
    "no-canonical": Strategy(canonical=False),
    "match-plan": Strategy(search=False),
    "match-plan-no-canonical": Strategy(search=False, canonical=False),
    "at-once": Strategy(plans=AT_ONCE),
    "two-by-two": Strategy(plans=TWO_BY_TWO),
    "no-vertical": Strategy(regroup=0),
    "no-panes": Strategy(panes=2**62),
    "all-panes": Strategy(panes=0),
    "no-breaker-sharing": Strategy(breakers=False),
    "no-transitivity": Strategy(transitivity=False),
    "materialise-all": Strategy(materialise=1.0),
    "order-of-text": Strategy(order=False),
    "off": Strategy(share=False),
}


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
