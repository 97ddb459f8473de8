"""Kernels that make arrays of a text: SPLIT and REGEXP_EXTRACT_ALL, in linear time by RE2."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.java_patterns import PatternFault, re2_pattern, with_named_groups
from seine.evaluate.kernels.datum import Kernel
from seine.evaluate.kernels.regular_expressions import of_pattern, split_texts
from seine.evaluate.kernels.text_lists import TextLists

_PRIVATE = [chr(code) for code in range(0xE000, 0xE100)]  # signs that mean nothing, to mark places in texts


def _refuse_empty(regex: str) -> None:
    if pc.match_substring_regex(pa.array([""]), regex)[0].as_py():
        raise PatternFault("it matches the empty text")


def _split(array: pa.Array, pattern: str, limit: int = -1) -> pa.Array:
    """SPLIT(text, pattern [, limit]): the parts between matches, at most `limit` if that is positive."""
    if limit == 1:
        _refuse_empty(re2_pattern(pattern))
        known = pc.is_valid(array).to_numpy(zero_copy_only=False)
        return TextLists(known, np.flatnonzero(known), array.drop_null()).lists()
    return split_texts(array, pattern, limit - 1 if limit > 1 else None)


def _extracted_all(array: pa.Array, pattern: str, group: int = 1) -> pa.Array:
    """REGEXP_EXTRACT_ALL: a group of each match. Matches are put between two signs that no text has."""
    regex = re2_pattern(pattern)
    _refuse_empty(regex)
    if not 0 <= group <= with_named_groups(pattern)[1]:
        raise PatternFault(f"no group {group}")
    opened, closed = _unused_signs(array)
    marked = pc.replace_substring_regex(array, regex, rf"{opened}\{group}{closed}")
    parts = TextLists.of(pc.split_pattern(marked, opened))
    parts = parts.where(parts.places > 0)
    inner = pc.list_element(pc.split_pattern(parts.items, closed), 0) if len(parts.items) else parts.items
    return TextLists(parts.known, parts.parents, inner).lists()


def _unused_signs(array: pa.Array) -> tuple[str, str]:
    """Two signs that are in no text of an array."""
    unused = (sign for sign in _PRIVATE if not pc.any(pc.match_substring(array, sign)).as_py())
    opened, closed = next(unused, None), next(unused, None)
    if opened is None or closed is None:
        raise PatternFault("the text has all private signs")
    return opened, closed


KERNELS: dict[str, Kernel] = {"split": of_pattern(_split), "regexp_extract_all": of_pattern(_extracted_all)}
