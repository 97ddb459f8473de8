"""Which aggregates keep a bounded state a group, however many rows it has: distributive and algebraic ones.

COUNT, SUM, AVG and the variances keep a few numbers. MIN, MAX, BOOL_AND and BOOL_OR keep one value where no
row ever ends; where rows end they need all values, and so does whatever is over distinct values.
"""

from __future__ import annotations

from seine.algebra import aggregates
from seine.algebra.plan import AggregateCall

_SUMS = (
    "count_all",
    "count",
    "sum",
    "avg",
    "stddev",
    "stddev_pop",
    "variance",
    "var_pop",
    "covar_pop",
    "covar_samp",
)
_EXTREMES = ("min", "max")
_LASTING = (*_EXTREMES, "bit_and", "bit_or", "bit_xor")  # of one value, where no row ends
_SKETCHES = ("approx_percentile", "approx_count_distinct")  # of a bounded number of cells


def keeps_bounded_state(call: AggregateCall, lasting: bool) -> bool:
    """Whether a call keeps a bounded state for each group; `lasting`: no row that it is over ever ends.

    >>> from seine.algebra.expressions import Column
    >>> from seine.algebra.types import BIGINT
    >>> largest = AggregateCall("max", (Column(0, BIGINT),), BIGINT)
    >>> keeps_bounded_state(largest, lasting=True), keeps_bounded_state(largest, lasting=False)
    (True, False)
    """
    if call.distinct:
        return False
    if call.function in _SKETCHES:
        return True
    registered = aggregates.lookup(call.function)
    if registered is None:
        return call.function in _SUMS or (lasting and call.function in _LASTING)
    if isinstance(registered, aggregates.FoldedAggregate):
        return lasting and registered.bounded
    return lasting or not any(kind in _EXTREMES for kind, _ in registered.parts.values())
