"""Which columns of a result identify its rows: what an upsert may go by.

Law: at any instant no two rows of the result agree in all columns of `identifying_columns`.
"""

from __future__ import annotations

from seine.algebra.expressions import Column
from seine.algebra.plan import Aggregate, Distinct, Join, Plan, Project, Select, SetOperation
from seine.algebra.rank_plan import ROW_NUMBER, Rank


def identifying_columns(plan: Plan) -> frozenset[int] | None:
    """Positions of columns that identify a row: those of GROUP BY, all of DISTINCT, of ranks PARTITION BY."""
    match plan:
        case Aggregate():
            return frozenset(range(len(plan.keys)))
        case Select():
            return identifying_columns(plan.input)
        case Project():
            return _projected(plan)
        case Join():
            return _joined(plan)
        case Rank():
            return _ranked(plan)
        case Distinct():
            return frozenset(range(len(plan.schema)))
        case SetOperation():
            return frozenset(range(len(plan.schema))) if plan.kind.is_set else identifying_columns(plan.left)
    return None


def _projected(plan: Project) -> frozenset[int] | None:
    """Where the columns below come to; all of them must."""
    below = identifying_columns(plan.input)
    if below is None:
        return None
    places: dict[int, int] = {}
    for place, expression in enumerate(plan.expressions):
        if isinstance(expression, Column):
            places.setdefault(expression.index, place)
    return frozenset(places[one] for one in below) if below <= places.keys() else None


def _ranked(plan: Rank) -> frozenset[int] | None:
    """The number of a row in its partition, if no two share it; of the first row alone the partition."""
    if (below := identifying_columns(plan.input)) is not None:
        return below
    if plan.function != ROW_NUMBER or (plan.name is None and plan.most != 1):
        return None
    return frozenset(plan.partition) | (set() if plan.most == 1 else {len(plan.schema) - 1})


def _joined(plan: Join) -> frozenset[int] | None:
    left, right = identifying_columns(plan.left), identifying_columns(plan.right)
    if left is None or right is None:
        return None
    return left | {len(plan.left.schema) + one for one in right}
