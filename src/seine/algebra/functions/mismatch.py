"""The refusal of an ill-typed expression."""

from __future__ import annotations

from seine.errors import SeineError


class TypeMismatch(SeineError):
    """An expression that has no type; the front end adds where it stands in the script."""
