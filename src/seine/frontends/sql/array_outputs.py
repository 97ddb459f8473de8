"""Arrays of texts live within expressions; where a row has one, it is JSON, as of COLLECT_LIST."""

from __future__ import annotations

from collections.abc import Sequence

from seine.algebra.expressions import Call, Expression
from seine.algebra.types import JSON, TEXTS
from seine.frontends.sql.scope import NamedExpression


def recorded(value: Expression) -> Expression:
    """A value as a row has it.

    >>> from seine.algebra.functions import literal, resolve_call
    >>> str(recorded(resolve_call("split", [literal("a,b"), literal(",")])).type)
    'JSON'
    """
    return Call("array_record", (value,), JSON) if value.type == TEXTS else value


def recorded_outputs(outputs: Sequence[NamedExpression]) -> list[NamedExpression]:
    """Outputs as a row has them."""
    return [NamedExpression(output.name, recorded(output.value)) for output in outputs]
