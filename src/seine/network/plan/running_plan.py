"""The plan as which a query runs in a network: restricted to what counts for it, and optimised.

Times of left tuples in semi and anti joins whose results are final: equal rows have equal lives then.

Births: a query of a live network is restricted to tuples that arrive after its registration.

A stream of a live network has one column more, the epoch of the journal entry that brought the
tuple; epochs grow when registrations take effect. A query that is born in epoch n asks for tuples of
epoch n or later on every stream: one more comparison with a constant, whatever it shares with older
queries.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from seine.algebra.definitions import StreamDef
from seine.algebra.expressions import Call, Column, Expression, Literal
from seine.algebra.plan import Plan, Project, Query, Scan, Select, SetOperation, walk
from seine.algebra.search_plan import Search
from seine.algebra.star import star_limit
from seine.algebra.types import BIGINT, BOOLEAN, Field
from seine.errors import SeineError
from seine.optimizer.block import take_apart
from seine.optimizer.closing_groups import with_all_closing_times
from seine.optimizer.estimates import Estimates
from seine.optimizer.flat_partners import with_flat_partners
from seine.optimizer.known_empty import is_known_empty
from seine.optimizer.optimise import optimise
from seine.optimizer.rules.drop_contradictions import drop_contradictions
from seine.optimizer.traverse import identity, rebuild

ARRIVAL = "arrival"


def with_arrival(stream: StreamDef) -> StreamDef:
    """The stream with the arrival of each tuple as its last column."""
    if stream.arrival is not None:
        return stream
    known = stream.__dict__  # frozen, but this follows from the fields
    if "_live" not in known:
        fields = (*stream.fields, Field(ARRIVAL, BIGINT))
        known["_live"] = replace(stream, fields=fields, arrival=len(stream.fields))
    live_stream: StreamDef = known["_live"]
    return live_stream


def scan_since(scan: Scan, birth_epoch: int) -> tuple[Scan, tuple[Expression, ...]]:
    """The scan of a live stream, and what its tuples of epoch `birth_epoch` and later satisfy."""
    return replace(scan, stream=with_arrival(scan.stream)), (_since(len(scan.schema), birth_epoch),)


@lru_cache(maxsize=1 << 8)
def _since(arrival: int, birth_epoch: int) -> Expression:
    return Call("ge", (Column(arrival, BIGINT), Literal(birth_epoch, BIGINT)), BOOLEAN)


def restrict_to_arrivals(plan: Plan, birth_epoch: int) -> Plan:
    """A query restricted to the tuples of epoch `birth_epoch` and later.

    before: Scan(a)
    after:  Project(Select(Scan(a with arrival), arrival >= birth_epoch), columns as before)
    """

    def change(part: Plan) -> Plan:
        if not isinstance(part, Scan):
            return part
        scan, (since,) = scan_since(part, birth_epoch)
        names = tuple(field.name for field in part.schema)
        return Project(Select(scan, since), tuple(identity(part)), names)

    return rebuild(plan, change)


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
