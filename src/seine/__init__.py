"""Seine: very many standing queries over streams, in one shared network in one Spark pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seine.algebra.aggregates import Aggregate
from seine.errors import SeineError

if TYPE_CHECKING:
    from seine.spark.api import Engine

__all__ = ["Aggregate", "Engine", "SeineError"]


def __getattr__(name: str) -> Any:
    """Spark is imported when an Engine is asked for, not before."""
    if name == "Engine":
        from seine.spark.api import Engine

        return Engine
    raise AttributeError(f"module 'seine' has no attribute {name!r}")
