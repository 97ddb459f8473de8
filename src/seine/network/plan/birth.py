"""Births: a query of a live network is restricted to tuples that arrive after its registration.

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
from seine.algebra.plan import Plan, Project, Scan, Select
from seine.algebra.types import BIGINT, BOOLEAN, Field
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
