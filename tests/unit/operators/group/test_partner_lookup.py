"""Outer, semi and anti lookups of single batches."""

from __future__ import annotations

import pyarrow as pa
import pytest

from seine.algebra.expressions import Call, Column, Expression
from seine.algebra.plan import LookupKind
from seine.algebra.types import BIGINT, BOOLEAN
from seine.graph.node import Port
from seine.operators.group.partner_lookup import PartnerLookupNode, PartnerLookupStep
from seine.operators.join.lookup import index_relation
from seine.operators.state.working_nodes import ArrivedDelta
from seine.rows.delta import Delta

TAG, KEY, LEAST = (Column(i, BIGINT) for i in range(3))
RELATION = pa.record_batch({"c0": [1, 1, 2, None], "c1": [5, 7, 3, 9]})
EXPECTED = {
    LookupKind.LEFT: [(1, 5), (1, 7), (1, None), (2, None), (3, None), (None, None)],
    LookupKind.SEMI: [(1,)],
    LookupKind.ANTI: [(1,), (2,), (3,), (None,)],
}


class Pushed:
    """Keeps what a step pushes."""

    def __init__(self) -> None:
        self.deltas: list[Delta] = []

    def push(self, node_id: int, output: Delta, emission: object) -> None:
        self.deltas.append(output)

    def read_of(self, node_id: int) -> None:
        return None


def both(*parts: Expression) -> Expression:
    return Call("and", parts, BOOLEAN)


@pytest.mark.parametrize("kind", [*LookupKind])
def test_rows_keep_their_lives(kind: LookupKind) -> None:
    types = (BIGINT, BIGINT, BIGINT)
    same = Call("eq", (KEY, Column(3, BIGINT)), BOOLEAN)
    more = Call("gt", (Column(4, BIGINT), LEAST), BOOLEAN)
    wide = (*types, BIGINT, BIGINT) if kind is LookupKind.LEFT else types
    node = PartnerLookupNode(
        9,
        (Port(0, types, ("a",), 0, ()),),
        wide,
        tuple(range(len(wide))),
        ("a",),
        (),
        0,
        1,
        "",
        relation="r",
        relation_types=(BIGINT, BIGINT),
        row_key=(KEY,),
        relation_key=(Column(0, BIGINT),),
        predicate=both(same, more),
        rule=kind.value,
    )
    rows = {"c0": [7] * 5, "c1": [1, 1, 2, 3, None], "c2": [4, 8, 3, 0, 0]}
    batch = pa.record_batch({"_s": [1, 2, 3, 4, 5], "_e": [11, 12, 13, 14, 15], **rows})
    pushed = Pushed()
    PartnerLookupStep(node, index_relation(RELATION, node.relation_key))(
        pushed,
        ArrivedDelta.of(Delta(batch)),
        None,  # type: ignore[arg-type]
    )
    (delta,) = pushed.deltas
    names = ["c1", "c4"] if kind is LookupKind.LEFT else ["c1"]
    records = delta.plus.to_pylist()
    assert sorted((tuple(r[name] for name in names) for r in records), key=repr) == sorted(
        EXPECTED[kind], key=repr
    )
    assert all(record["_e"] == record["_s"] + 10 for record in records)
