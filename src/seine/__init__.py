"""Seine: very many standing queries over streams, in one shared network in one Spark pipeline."""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

from seine.errors import SeineError

if TYPE_CHECKING:
    from seine.algebra.aggregates import FoldedAggregate
    from seine.algebra.aggregates import UserAggregate as Aggregate
    from seine.algebra.user_functions import function
    from seine.spark.engine import Engine

__version__ = "0.1.0"
__all__ = ["Aggregate", "Engine", "FoldedAggregate", "SeineError", "__version__", "function"]

# A program that configures no logging hears nothing: the commands say where messages go.
logging.getLogger(__name__).addHandler(logging.NullHandler())

_HOMES = {
    "Aggregate": ("seine.algebra.aggregates", "UserAggregate"),
    "FoldedAggregate": ("seine.algebra.aggregates", "FoldedAggregate"),
    "function": ("seine.algebra.user_functions", "function"),
    "Engine": ("seine.spark.engine", "Engine"),
}


def __getattr__(name: str) -> Any:
    """Arrow and Spark are imported when something of theirs is asked for, not before."""
    if name not in _HOMES:
        raise AttributeError(f"module 'seine' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    return getattr(import_module(module), attribute)
