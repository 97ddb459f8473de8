"""The plan as which a query runs in a network: restricted to what counts for it, and optimised."""

from __future__ import annotations

from seine.algebra.memory_limit import star_limit
from seine.algebra.plan import Plan, Query, walk
from seine.algebra.search_plan import Search
from seine.errors import SeineError
from seine.network.plan.birth import restrict_to_arrivals
from seine.network.plan.partner_times import with_times
from seine.optimizer.estimates import Estimates
from seine.optimizer.optimise import optimise

MOST_TABLES = 400  # streams and relations of one query that runs


def running_plan(query: Query, birth_epoch: int | None, estimates: Estimates | None) -> Plan:
    """The plan as which a query runs: counted from `birth_epoch` on, unless that is None, and optimised.

    A query that is limited by memory runs as it is written: what it gives up is for its own words to decide.
    """
    if sum(not part.inputs for part in walk(query.plan)) > MOST_TABLES:
        message = f"query {query.name!r} reads more than {MOST_TABLES} streams and relations"
        raise SeineError(message, hint="it can be checked, but not run: split it, e.g. its outer joins")
    if isinstance(query.plan, Search):
        return query.plan
    final = query.option("emit") == "final"
    plan = with_times(query.plan) if final else query.plan
    plan = plan if birth_epoch is None else restrict_to_arrivals(plan, birth_epoch)
    return plan if star_limit(query) is not None else optimise(plan, estimates=estimates, final=final)
