"""Whether two values are the same in every field, whatever classes and fields they are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any


def difference(one: Any, other: Any, place: str = "") -> str | None:
    """Where two values first differ, with both; None if they are the same down to the types of constants.

    Unlike ==, it looks at fields that are not compared, at the order of what has one, and at 1 and 1.0.
    """
    if one is other:
        return None
    if type(one) is not type(other):
        return f"{place}: {one!r} is not {other!r}"
    if is_dataclass(one):
        parts = [(f".{field.name}", field.name) for field in fields(one)]
        pairs = [(name, getattr(one, key), getattr(other, key)) for name, key in parts]
    elif isinstance(one, Mapping):
        if [*one] != [*other]:
            return f"{place}: keys {[*one]} are not {[*other]}"
        pairs = [(f"[{key!r}]", one[key], other[key]) for key in one]
    elif isinstance(one, Sequence) and not isinstance(one, str | bytes):
        if len(one) != len(other):
            return f"{place}: {one!r} is not {other!r}"
        pairs = [(f"[{number}]", *both) for number, both in enumerate(zip(one, other, strict=True))]
    else:
        return None if repr(one) == repr(other) else f"{place}: {one!r} is not {other!r}"
    differences = (difference(left, right, place + name) for name, left, right in pairs)
    return next(filter(None, differences), None)
