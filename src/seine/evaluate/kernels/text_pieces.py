"""Kernels that make arrays of a text: SPLIT and REGEXP_EXTRACT_ALL, in linear time by RE2."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.java_patterns import re2_pattern, with_named_groups
from seine.evaluate.kernels.datum import Kernel
from seine.evaluate.kernels.empty_matches import replaced_matches, unused_signs
from seine.evaluate.kernels.regular_expressions import of_pattern, split_texts
from seine.evaluate.kernels.text_lists import TextLists


def _split(array: pa.Array, pattern: str, limit: int = -1) -> pa.Array:
    """SPLIT(text, pattern [, limit]): the parts between matches, at most `limit` if that is positive."""
    if limit == 1:
        re2_pattern(pattern)
        known = pc.is_valid(array).to_numpy(zero_copy_only=False)
        return TextLists(known, np.flatnonzero(known), array.drop_null()).lists()
    return split_texts(array, pattern, limit - 1 if limit > 1 else None)


def _extracted_all(array: pa.Array, pattern: str, group: int = 1) -> pa.Array:
    """REGEXP_EXTRACT_ALL: a group of each match; NULL where a match has no such group.

    Matches are put between two signs that no text has.
    """
    if not 0 <= group <= with_named_groups(pattern)[1]:
        missed = pc.invert(pc.match_substring_regex(array, re2_pattern(pattern)))
        known = pc.fill_null(missed, False).to_numpy(zero_copy_only=False)
        return TextLists(known, np.zeros(0, np.int64), pa.array([], pa.string())).lists()
    opened, closed = unused_signs(array, 2)
    marked = replaced_matches(array, pattern, rf"{opened}\{group}{closed}", opened + closed)
    parts = TextLists.of(pc.split_pattern(marked, opened))
    parts = parts.where(parts.places > 0)
    inner = pc.list_element(pc.split_pattern(parts.items, closed), 0) if len(parts.items) else parts.items
    return TextLists(parts.known, parts.parents, inner).lists()


KERNELS: dict[str, Kernel] = {"split": of_pattern(_split), "regexp_extract_all": of_pattern(_extracted_all)}
