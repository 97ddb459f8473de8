"""The error for ill-typed expressions."""

from __future__ import annotations

from seine.errors import SeineError


class TypeMismatch(SeineError):
    """An ill-typed expression; the front end adds its position in the script."""
