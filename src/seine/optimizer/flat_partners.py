"""Chains of outer joins of lasting tuples as semi and anti joins of tuples alone, for final results.

    (a LEFT JOIN b) LEFT JOIN c     pairs of three, and
        (a JOIN b) ANTI JOIN c      where b is there and c is not
        (a JOIN c) ANTI JOIN b      where c is there and b is not (`joins_beneath.py`)
        a ANTI JOIN (b, c)          where neither is: no pair of a with b, and none with c

Law: which partners a row has depends on its values alone. So rows of a union are asked apart; and a row that
has no partner among b and then none among c has none among the pairs of both. Rows without a partner change
when one comes; tuples do not, so of these it is known when they are final.
"""

from __future__ import annotations

from seine.algebra.expressions import Column
from seine.algebra.plan import Plan, Scan, SetKind, SetOperation, UnionAll, walk
from seine.optimizer.block import Block, take_apart
from seine.optimizer.joins_beneath import with_item
from seine.optimizer.traverse import with_inputs


def with_flat_partners(plan: Plan) -> Plan:
    """The plan in which rows without a partner are no rows of further semi and anti joins.

    before: Anti(UnionAll(Join(a, b), Project(Anti(a, ..))), Join(UnionAll(..), c))
    after:  UnionAll(Anti(Join(a, b), Join(Join(a, b), c)), Anti(a, UnionAll(.., Join(a, c))))
    """
    scans = [part for part in walk(plan) if isinstance(part, Scan)]
    if any(scan.stream.retractable or scan.window is not None for scan in scans):
        return plan
    return _flat(plan)


def _flat(plan: Plan) -> Plan:
    if isinstance(plan, SetOperation) and plan.kind.is_of_pairs:
        left, rights = take_apart(plan.left, largest=None), _branches(plan.right)
        pairs = [take_apart(right, largest=None) for right in rights]
        if len(left.items) == 1 and all(one.items[0] == left.items[0] for one in pairs):
            flat = _apart(plan, left, pairs)
            if flat is not None:
                return _flat(flat)
    return with_inputs(plan, tuple(map(_flat, plan.inputs)))


def _apart(plan: SetOperation, left: Block, pairs: list[Block]) -> Plan | None:
    """The rows of a union, or of an anti join, asked for partners without asking who they are made of."""
    names = tuple(field.name for field in plan.schema)
    item = left.items[0]
    if isinstance(item, UnionAll):
        return UnionAll(
            tuple(
                SetOperation(
                    with_item(left, 0, branch, left.outputs, names),
                    _union([with_item(one, 0, branch, one.outputs, names) for one in pairs]),
                    plan.kind,
                    plan.reads,
                )
                for branch in item.branches
            )
        )
    if plan.kind is not SetKind.ANTI or not isinstance(item, SetOperation) or item.kind is not SetKind.ANTI:
        return None
    places = {output.index: n for n, output in enumerate(left.outputs) if isinstance(output, Column)}
    if len(places) < len(item.schema):
        return None  # rows that differ would look alike
    met = [
        *(with_item(left, 0, one, left.outputs, names) for one in _branches(item.right)),
        *(with_item(one, 0, item.left, one.outputs, names) for one in pairs),
    ]
    reads = {*plan.reads, *(places[column] for column in item.reads)}
    rows = with_item(left, 0, item.left, left.outputs, names)
    return SetOperation(rows, _union(met), SetKind.ANTI, tuple(sorted(reads)))


def _branches(plan: Plan) -> tuple[Plan, ...]:
    return plan.branches if isinstance(plan, UnionAll) else (plan,)


def _union(plans: list[Plan]) -> Plan:
    return plans[0] if len(plans) == 1 else UnionAll(tuple(plans))
