r"""Matches as Java finds them, of patterns that match the empty text, by RE2's and signs that no text has.

Law: behind a match that is not empty Java takes an empty one where RE2 takes none, unless the next match
begins there. So `x*` is found twice in `x`. A match is written as three signs with the matched text and its
replacement between them, and the missing ones are put in.

Differs: patterns that ask where they are (`^`, `$`, `\b`) keep the matches of RE2, and no match is between
the halves of a sign beyond 16 bits.

>>> replaced_matches(pa.array(["x", "axb"]), "x*", "-", "-").to_pylist()
['--', '-a--b-']
>>> counted_matches(pa.array(["x", "äb"]), "").to_pylist()
[2, 3]
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.java_patterns import PatternFault, has_assertions, matches_empty, re2_pattern
from seine.evaluate.kernels.match_searches import spend_on_searches
from seine.evaluate.kernels.text_lists import TextLists

_PRIVATE = [chr(code) for code in range(0xE000, 0xE100)]  # signs that mean nothing, to mark places in texts


def unused_signs(array: pa.Array, count: int) -> list[str]:
    """Signs that are in no text of an array."""
    unused = [sign for sign in _PRIVATE if not pc.any(pc.match_substring(array, sign)).as_py()]
    if len(unused) < count:
        raise PatternFault("the text has all private signs")
    return unused[:count]


def replaced_matches(array: pa.Array, pattern: str, rewrite: str, of_empty: str) -> pa.Array:
    """The texts with matches replaced by RE2's `rewrite`, and empty ones that RE2 has not by `of_empty`."""
    regex = re2_pattern(pattern)
    spend_on_searches(array, pattern)
    if not matches_empty(pattern) or has_assertions(pattern):
        return pc.replace_substring_regex(array, regex, rewrite)
    begin, middle, end = unused_signs(array, 9)[-3:]
    marked = pc.replace_substring_regex(array, regex, rf"{begin}\0{middle}{rewrite}{end}")
    lonely = rf"({begin}[^{middle}]+{middle}[^{end}]*{end})([^{begin}]|\z)"
    whole = pc.replace_substring_regex(marked, lonely, rf"\1{of_empty}\2")
    return pc.replace_substring_regex(whole, rf"{begin}[^{middle}]*{middle}([^{end}]*){end}", r"\1")


def counted_matches(array: pa.Array, pattern: str) -> pa.Array:
    """How many matches each text has."""
    if not matches_empty(pattern):
        spend_on_searches(array, pattern)
        return pc.count_substring_regex(array, re2_pattern(pattern))
    sign = unused_signs(array, 1)[0]
    return pc.count_substring(replaced_matches(array, pattern, sign, sign), sign)


def split_at_empty(array: pa.Array, pattern: str, most: int | None) -> pa.Array:
    """The parts between the first `most` matches, of which an empty one at the start separates nothing.

    >>> split_at_empty(pa.array(["axb", "x"]), "x*", None).to_pylist()
    [['a', '', 'b', ''], ['', '', '']]
    """
    begin, end = unused_signs(array, 2)
    marked = replaced_matches(array, pattern, rf"{begin}\0{end}", begin + end)
    marked = pc.replace_substring_regex(marked, rf"\A{begin}{end}", "")
    parts = TextLists.of(pc.split_pattern(marked, begin, max_splits=most))
    behind = pc.replace_substring_regex(parts.items, rf"\A[^{end}]*{end}", "")
    items = pc.if_else(pa.array(parts.places > 0), behind, parts.items)
    return TextLists(
        parts.known, parts.parents, pc.replace_substring_regex(items, f"[{begin}{end}]", "")
    ).lists()


def split_characters(array: pa.Array, most: int | None) -> pa.Array:
    """Each character; of the last part that `most` splits leave, the rest.

    >>> split_characters(pa.array(["äbc", ""]), 1).to_pylist()
    [['ä', 'bc'], ['']]
    """
    sign = unused_signs(array, 1)[0]
    head = array if most is None else pc.utf8_slice_codeunits(array, 0, most)
    marked = pc.replace_substring_regex(head, r"(?s)(.)", rf"\1{sign}")
    if most is not None:
        marked = pc.binary_join_element_wise(marked, pc.utf8_slice_codeunits(array, most), "")
    return pc.split_pattern(pc.replace_substring_regex(marked, rf"{sign}\z", ""), sign)
