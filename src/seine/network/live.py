"""A query counts from the moment it is registered: every tuple of a live network knows when it arrived.

A stream of a live network has one column more, the epoch of the journal entry that brought the
tuple; epochs grow when registrations take effect. A query that is born in epoch n asks for tuples of
epoch n or later on every stream: one more comparison with a constant, whatever it shares with older
queries.
"""

from __future__ import annotations

from dataclasses import replace

from seine.algebra.definitions import StreamDef
from seine.algebra.expressions import Call, Column, Literal
from seine.algebra.plan import Plan, Project, Scan, Select
from seine.algebra.types import BIGINT, BOOLEAN, Field
from seine.optimizer.traverse import identity, rebuild

ARRIVAL = "arrival"


def live(stream: StreamDef) -> StreamDef:
    """The stream with the arrival of each tuple as its last column."""
    if stream.arrival is not None:
        return stream
    fields = (*stream.fields, Field(ARRIVAL, BIGINT))
    return replace(stream, fields=fields, arrival=len(stream.fields))


def counted_from(plan: Plan, born: int) -> Plan:
    """The same query over the tuples of epoch `born` and later.

    before: Scan(a)
    after:  Project(Select(Scan(a with arrival), arrival >= born), columns as before)
    """

    def change(part: Plan) -> Plan:
        if not isinstance(part, Scan):
            return part
        scan = Scan(live(part.stream), part.alias)
        arrival = Column(len(part.schema), BIGINT)
        young = Select(scan, Call("ge", (arrival, Literal(born, BIGINT)), BOOLEAN))
        names = tuple(field.name for field in part.schema)
        return Project(young, tuple(identity(part)), names)

    return rebuild(plan, change)
