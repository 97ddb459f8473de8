"""The plan as which a query runs in a network: restricted to what counts for it, and optimised.

Times of left tuples in semi and anti joins whose results are final: equal rows have equal lives then.
"""

from __future__ import annotations

from dataclasses import replace

from seine.algebra.expressions import Column
from seine.algebra.plan import Plan, Query, SetOperation, walk
from seine.algebra.search_plan import Search
from seine.algebra.star import star_limit
from seine.errors import SeineError
from seine.network.plan.birth import restrict_to_arrivals
from seine.optimizer.block import take_apart
from seine.optimizer.closing_groups import with_all_closing_times
from seine.optimizer.estimates import Estimates
from seine.optimizer.flat_partners import with_flat_partners
from seine.optimizer.known_empty import is_known_empty
from seine.optimizer.optimise import optimise
from seine.optimizer.rules.drop_contradictions import drop_contradictions
from seine.optimizer.traverse import rebuild

MOST_TABLES = 400  # streams and relations of one query that runs
MOST_READ = 2_500  # times that these are read: an outer join reads its left side three times, or four


def running_plan(query: Query, birth_epoch: int | None, estimates: Estimates | None) -> Plan:
    """The plan as which a query runs: counted from `birth_epoch` on, unless that is None, and optimised.

    A query that is limited by memory runs as it is written: what it gives up is for its own words to decide.
    """
    refusal = too_large(query.plan)
    if refusal is not None:
        raise SeineError(f"query {query.name!r} {refusal}", hint="it can be checked, but not run: split it")
    if isinstance(query.plan, Search):
        return query.plan
    if is_known_empty(query.plan):
        return drop_contradictions(query.plan)
    final = query.option("emit") == "final"
    plan = with_all_closing_times(with_flat_partners(query.plan) if final else query.plan)
    plan = with_times(plan) if final else plan
    plan = plan if birth_epoch is None else restrict_to_arrivals(plan, birth_epoch)
    return plan if star_limit(query) is not None else optimise(plan, estimates=estimates, final=final)


def too_large(plan: Plan) -> str | None:
    """What makes a plan too large to run; None if nothing does.

    Of tables that stand in it several times, as those in a chain of outer joins do, each counts once, unless
    they are very many.
    """
    tables = [part for part in walk(plan) if not part.inputs]
    if len(tables) > MOST_READ:
        return f"has too many outer joins: its streams and relations are read more than {MOST_READ} times"
    if len(tables) > MOST_TABLES and len({*tables}) > MOST_TABLES:
        return f"reads more than {MOST_TABLES} streams and relations"
    return None


def with_times(plan: Plan) -> Plan:
    """The plan in which semi and anti joins keep the times of left tuples: rows that are equal in these have
    equal lives.
    """
    return rebuild(plan, _with_times)


def _with_times(plan: Plan) -> Plan:
    if not isinstance(plan, SetOperation) or not plan.kind.is_of_pairs:
        return plan
    block = take_apart(plan.left)
    times = {first + scan.stream.time for scan, first in block.scans}
    places = {
        place for place, one in enumerate(block.outputs) if isinstance(one, Column) and one.index in times
    }
    return replace(plan, reads=tuple(sorted({*plan.reads, *places})))
