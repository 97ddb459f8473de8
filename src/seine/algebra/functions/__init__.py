"""Type resolution: which functions exist, what they take and what they give, as in Spark SQL 4 (ANSI).

An implicit cast becomes an explicit `cast` call; what has no type is refused by `TypeMismatch`.
"""

from seine.algebra.functions.aggregate_calls import is_aggregate, resolve_aggregate
from seine.algebra.functions.casting import literal, resolve_cast
from seine.algebra.functions.mismatch import TypeMismatch
from seine.algebra.functions.resolve_call import function_names, resolve_call
from seine.algebra.functions.widening import common_type

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
