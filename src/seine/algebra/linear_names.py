"""The names of linear functions: `linear[1,-2]` (x, y) is x - 2 * y.

The coefficients are in the name because they belong to the shape of a condition, not to its constants.
"""

from __future__ import annotations

from functools import lru_cache

_PREFIX = "linear["


@lru_cache(maxsize=1 << 12)
def linear_name(coefficients: tuple[int, ...]) -> str:
    """The name of the function with these coefficients.

    >>> linear_name((1, -2))
    'linear[1,-2]'
    """
    return f"{_PREFIX}{','.join(map(str, coefficients))}]"


@lru_cache(maxsize=1 << 12)
def coefficients_of(name: str) -> tuple[int, ...] | None:
    """The coefficients of a function, None if it is not a linear one."""
    if not name.startswith(_PREFIX):
        return None
    return tuple(map(int, name[len(_PREFIX) : -1].split(",")))
