"""Function resolution and type coercion: the signatures of all functions, as in Spark SQL 4 (ANSI mode).

An implicit cast becomes an explicit `cast` call; an ill-typed call is refused with `TypeMismatch`.
"""

from seine.algebra.functions.aggregate_calls import is_aggregate, resolve_aggregate
from seine.algebra.functions.casting import TypeMismatch, common_type, literal, resolve_cast
from seine.algebra.functions.resolve_call import function_names, resolve_call

__all__ = [
    "TypeMismatch",
    "common_type",
    "function_names",
    "is_aggregate",
    "literal",
    "resolve_aggregate",
    "resolve_call",
    "resolve_cast",
]
