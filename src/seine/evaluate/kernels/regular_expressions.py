r"""Kernels of LIKE, RLIKE and REGEXP functions, by RE2, which finds one match in linear time.

Functions of all matches search once for each; where a search may look far behind its match, searches are
counted (`match_searches.py`).

Matches as Java finds them, of patterns that match the empty text, by RE2's and signs that no text has.

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

import re
from collections.abc import Callable
from contextlib import suppress
from functools import wraps

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.expressions import Call
from seine.algebra.java_patterns import (
    PatternFault,
    group_names,
    has_assertions,
    matches_empty,
    re2_pattern,
    rewritten,
    scan_like,
    with_named_groups,
)
from seine.evaluate.kernels.datum import Kernel, byte_lengths, nulls, with_constants
from seine.evaluate.kernels.match_searches import spend_on_reading, spend_on_searches, spend_on_width
from seine.evaluate.kernels.spending import spend
from seine.evaluate.kernels.text_arrays import TextLists
from seine.rows.column_arrays import as_lists

_LITERAL = re.compile(r"[\w/,;:&=@ -]+", re.ASCII)  # a pattern that matches itself alone
_LONGEST_PLAIN = 64  # letters of a text that is compared at each place
_META = re.compile(r"[^\w\s]", re.ASCII)
_PRIVATE = [chr(code) for code in range(0xE000, 0xE100)]  # signs that mean nothing, to mark places in texts


def like_regex(pattern: str, escape: str = "\\") -> str | None:
    r"""The regular expression of a LIKE pattern; None if the pattern is invalid.

    >>> like_regex("a%_.\\%")
    '(?s)\\Aa.*.\\.\\%\\z'
    """
    letters = scan_like(pattern, escape)
    if letters is None:
        return None
    pieces = [_quoted(text) if literal else {"%": ".*", "_": "."}[text] for literal, text in letters]
    return rf"(?s)\A{''.join(pieces)}\z"


def _quoted(letter: str) -> str:
    if letter == "\x00":
        return r"\x00"
    return _META.sub(r"\\\g<0>", letter) if letter.isascii() else letter


def _like(call: Call, array: pa.Array, pattern: str, escape: str = "\\") -> pa.Array:
    regex = like_regex(pattern, escape)
    if regex is None:
        return nulls(call.type, len(array))
    special = any(sign in pattern for sign in ("_", escape))
    inner = pattern.strip("%")
    if special or "%" in inner:
        return _matched(call, array, regex)
    starts, ends = pattern.startswith("%"), pattern.endswith("%")
    if not starts and not ends:
        return pc.equal(array, pattern)
    if starts and ends:
        return pc.match_substring(array, inner)
    return pc.ends_with(array, inner) if starts else pc.starts_with(array, inner)


def _matched(call: Call, array: pa.Array, regex: str) -> pa.Array:
    """Where RE2 finds a match; NULL for a pattern that is too large."""
    spend_on_width(array, regex)
    try:
        return pc.match_substring_regex(array, regex)
    except pa.ArrowInvalid:
        return nulls(call.type, len(array))


def of_pattern(kernel: Callable[..., pa.Array]) -> Kernel:
    """A kernel of a text, a pattern and constants; NULL for a pattern that is invalid or too large."""

    @wraps(kernel)
    def guarded(call: Call, array: pa.Array, pattern: str, *constants: object) -> pa.Array:
        try:
            spend_on_width(array, re2_pattern(pattern))
            return kernel(array, pattern, *constants)
        except (pa.ArrowInvalid, PatternFault):
            return nulls(call.type, len(array))

    def prepare(pattern: str, *_: object) -> None:
        with suppress(PatternFault):
            spend_on_reading(re2_pattern(pattern))

    return with_constants(guarded, 1, prepare=prepare)


def _has_match(array: pa.Array, pattern: str) -> pa.Array:
    return pc.match_substring_regex(array, re2_pattern(pattern, consuming=True))


def _extracted(array: pa.Array, pattern: str, group: int = 1) -> pa.Array:
    """REGEXP_EXTRACT: a group of the first match, empty without one; NULL where it has no such group."""
    regex, groups = with_named_groups(pattern)
    if not 0 <= group <= groups:
        return pc.if_else(pc.match_substring_regex(array, regex), pa.scalar(None, pa.string()), "")
    return pc.if_else(pc.is_valid(array), pc.fill_null(_group(array, regex, group), ""), None)


def _first_match(array: pa.Array, pattern: str) -> pa.Array:
    """REGEXP_SUBSTR: the first match, NULL if there is none or it is empty."""
    first = _group(array, with_named_groups(pattern)[0], 0)
    return pc.if_else(pc.not_equal(first, ""), first, pa.scalar(None, pa.string()))


def _group(array: pa.Array, regex: str, group: int) -> pa.Array:
    parts = pc.extract_regex(array, regex)
    return pc.struct_field(parts, f"g{group}")


def _position(array: pa.Array, pattern: str) -> pa.Array:
    """REGEXP_INSTR: where the first match begins, from 1 on; 0 if there is none."""
    regex, _ = with_named_groups(pattern)
    before = pc.struct_field(pc.extract_regex(array, rf"\A(?P<before>(?s:.*?)){regex}"), "before")
    position = pc.fill_null(pc.add(pc.utf8_length(before), 1), 0).cast(pa.int32())
    return pc.if_else(pc.is_valid(array), position, pa.scalar(None, position.type))


def split_texts(array: pa.Array, pattern: str, most: int | None) -> pa.Array:
    """The parts of each text between matches, of the first `most` of them; plain text needs no RE2."""
    if len(pattern) <= _LONGEST_PLAIN and _LITERAL.fullmatch(pattern):
        return pc.split_pattern(array, pattern, max_splits=most)
    if not pattern:
        return split_characters(array, most)
    if matches_empty(pattern):
        return split_at_empty(array, pattern, most)
    spend_on_searches(array, pattern)
    return pc.split_pattern_regex(array, re2_pattern(pattern), max_splits=most)


def _split_item(array: pa.Array, pattern: str, position: int) -> pa.Array:
    """A part of a text between matches, from 1 on or from the end; NULL where there are not so many."""
    if position == 0:
        raise PatternFault("no such part")
    parts = as_lists(split_texts(array, pattern, position if position > 0 else None))
    offsets = parts.offsets.to_numpy().astype(np.int64)
    at = (offsets[:-1] + position - 1) if position > 0 else (offsets[1:] + position)
    inside = (at >= offsets[:-1]) & (at < offsets[1:])
    return parts.values.take(pa.array(at, mask=~inside))


def _replaced(array: pa.Array, pattern: str, replacement: str) -> pa.Array:
    """REGEXP_REPLACE with Java's replacement syntax; NULL where a match is replaced by what is none."""
    regex, groups = with_named_groups(pattern)
    try:
        rewrite, of_empty = rewritten(replacement, groups, group_names(pattern))
    except PatternFault:
        return pc.if_else(pc.match_substring_regex(array, regex), pa.scalar(None, pa.string()), array)
    _spend_on_replacements(array, pattern, replacement)
    return replaced_matches(array, pattern, rewrite, of_empty)


def _spend_on_replacements(array: pa.Array, pattern: str, replacement: str) -> None:
    """Count what replacements may make.

    A group is at most as long as its match, so all copies of one reference are at most as long as the text.
    """
    references = len(re.findall(r"\$[\d{]", replacement))
    literal = len(replacement.encode()) - 2 * references
    if references < 2 and literal <= 1:
        return  # of a match no more than it is long, and a letter
    matches = pc.sum(counted_matches(array, pattern)).as_py() or 0
    spend(size=int(byte_lengths(array).sum()) * references + matches * max(0, literal), constants=[pattern])


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


KERNELS: dict[str, Kernel] = {
    "like": with_constants(_like, 1),
    "rlike": of_pattern(_has_match),
    "regexp_count": of_pattern(counted_matches),
    "regexp_extract": of_pattern(_extracted),
    "regexp_instr": of_pattern(_position),
    "regexp_replace": of_pattern(_replaced),
    "split_item": of_pattern(_split_item),
    "regexp_substr": of_pattern(_first_match),
    "split": of_pattern(_split),
    "regexp_extract_all": of_pattern(_extracted_all),
}
