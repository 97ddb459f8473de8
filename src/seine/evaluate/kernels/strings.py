"""Kernels of string functions. Lengths and positions count code points; positions start at 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.expressions import Call
from seine.documents.xpath_values import (
    xpath_boolean,
    xpath_double,
    xpath_int,
    xpath_long,
    xpath_steps,
    xpath_string,
)
from seine.evaluate.kernels import regular_expressions
from seine.evaluate.kernels.datum import (
    Datum,
    Kernel,
    argument,
    build,
    byte_lengths,
    datum_bytes,
    row_count,
    spend_on_copies,
    spend_on_growth,
    valid,
    values,
    with_constants,
)
from seine.evaluate.kernels.spending import spend

_LONGEST_COMPARED = (
    64  # letters of a text that Arrow compares at each place; Python looks at each letter once
)


def map_distinct(function: Callable[[Any], object], array: pa.Array, type_: pa.DataType) -> pa.Array:
    """Apply a Python function to each distinct value of an array."""
    encoded = pc.dictionary_encode(array)
    results = pa.array([function(text) for text in encoded.dictionary.to_pylist()], type_)
    return results.take(encoded.indices)


def _is_ascii(array: pa.Array) -> bool:
    return pc.all(pc.string_is_ascii(array)).as_py() is not False


def _recased(ascii_kernel: Callable[[pa.Array], pa.Array], function: Callable[[str], str]) -> Kernel:
    """A kernel of case mapping: Arrow's on ASCII, Python's full Unicode mapping otherwise."""

    def kernel(_: Call, args: Sequence[Datum]) -> pa.Array:
        array = argument(args)
        return ascii_kernel(array) if _is_ascii(array) else map_distinct(function, array, pa.string())

    return kernel


def _initcap(_: Call, args: Sequence[Datum]) -> pa.Array:
    def capitalise(text: str) -> str:
        return " ".join(word[:1].title() + word[1:] for word in text.lower().split(" "))

    return map_distinct(capitalise, argument(args), pa.string())


def _trimmer(kernel: Callable[[pa.Array, str], pa.Array]) -> Kernel:
    def trim(_: Call, array: pa.Array, characters: str = " ") -> pa.Array:
        return kernel(array, characters) if characters else array

    return with_constants(trim, 1)


def _length(_: Call, args: Sequence[Datum]) -> pa.Array:
    return pc.utf8_length(argument(args))


def _octet_length(_: Call, args: Sequence[Datum]) -> pa.Array:
    return pc.binary_length(argument(args))


def _bit_length(call: Call, args: Sequence[Datum]) -> pa.Array:
    return build(
        call.type, values(pc.binary_length(args[0])).astype(np.int64) * 8, valid(args[0]), row_count(args)
    )


def _ascii(_: Call, args: Sequence[Datum]) -> pa.Array:
    return map_distinct(lambda text: ord(text[0]) if text else 0, argument(args), pa.int32())


def _chr(_: Call, args: Sequence[Datum]) -> pa.Array:
    """CHR: the character of the lowest eight bits; empty for a negative number."""
    low = np.where(values(args[0]) < 0, 256, values(args[0]) & 255)
    mask = ~np.broadcast_to(valid(args[0]), len(low))
    return pa.array([*map(chr, range(256)), ""]).take(pa.array(low, mask=mask))


def _substring(_: Call, array: pa.Array, position: int, length: int | None = None) -> pa.Array:
    """SUBSTRING: position 0 is 1, a negative one counts from the end; clipped to the text."""
    if length is not None and length <= 0:
        return _emptied(array)
    start = position - 1 if position > 0 else position
    stop = None if length is None else start + length
    if start < 0 and stop is not None and stop >= 0:
        stop = None
    return pc.utf8_slice_codeunits(array, start, stop)


def _emptied(array: pa.Array) -> pa.Array:
    return pc.if_else(pc.is_valid(array), "", pa.scalar(None, pa.string()))


def _left(call: Call, array: pa.Array, length: int) -> pa.Array:
    return _substring(call, array, 1, length)


def _right(_: Call, array: pa.Array, length: int) -> pa.Array:
    return pc.utf8_slice_codeunits(array, -length) if length > 0 else _emptied(array)


def _concat(_: Call, args: Sequence[Datum]) -> pa.Array:
    rows = row_count(args)
    spend_on_copies(args, rows)
    spend_on_growth(sum(datum_bytes(arg, rows) for arg in args), args, rows)
    return pc.binary_join_element_wise(*args, "")


def _concat_ws(_: Call, args: Sequence[Datum]) -> pa.Array:
    """CONCAT_WS: NULL parts are skipped; a NULL separator makes the result NULL."""
    separator, *parts = args
    if not parts:
        return _emptied(argument(args))
    joined, rows = [separator] * (len(parts) - 1) + parts, row_count(args)
    spend_on_copies(joined, rows)
    spend_on_growth(sum(datum_bytes(arg, rows) for arg in joined), args, rows)
    # Arrow leaves a row out of its answer in which every part is NULL, so no row may be so.
    nothing = reduce(pc.and_, [pc.is_null(part) for part in parts])
    first = pc.if_else(nothing, "", parts[0])
    return pc.binary_join_element_wise(first, *parts[1:], separator, null_handling="skip")


def _replace(_: Call, array: pa.Array, search: str, replacement: str = "") -> pa.Array:
    if not search:
        return array
    matches = pc.sum(pc.count_substring(array, search)).as_py() or 0
    growth = len(replacement.encode()) - len(search.encode())
    spend(size=matches * max(0, growth), constants=[search, replacement])
    if len(search) > _LONGEST_COMPARED:
        return map_distinct(lambda text: text.replace(search, replacement), array, pa.string())
    return pc.replace_substring(array, search, replacement)


def _translate(_: Call, array: pa.Array, source: str, target: str) -> pa.Array:
    """TRANSLATE: the first occurrence of a source character counts; one without a target is deleted."""
    table = {ord(c): target[i] if i < len(target) else None for i, c in reversed([*enumerate(source)])}
    return map_distinct(lambda text: text.translate(table), array, pa.string())


def _instr(_: Call, array: pa.Array, search: str) -> pa.Array:
    if not search or not _is_ascii(array):  # Arrow counts bytes
        return map_distinct(lambda text: text.find(search) + 1, array, pa.int32())
    return pc.add(pc.find_substring(array, search), 1).cast(pa.int32())


def _find(_: Call, array: pa.Array, search: str | None, start: int | None) -> pa.Array:
    """LOCATE: 0 for a NULL start; the empty string is at 1, wherever the search begins."""
    if start is None:
        return pa.repeat(pa.scalar(0, pa.int32()), len(array))
    if search is None:
        return pa.nulls(len(array), pa.int32())
    begin = 1 if not search and start > 0 else start
    return map_distinct(lambda text: text.find(search, begin - 1) + 1 if begin > 0 else 0, array, pa.int32())


_FIND_KERNEL = with_constants(_find, 1, nullable=True)


def _locate(call: Call, args: Sequence[Datum]) -> pa.Array:
    search, text, start = args
    return _FIND_KERNEL(call, (text, search, start))


def _reverse(_: Call, args: Sequence[Datum]) -> pa.Array:
    return pc.utf8_reverse(argument(args))


def _repeat(_: Call, array: pa.Array, times: int) -> pa.Array:
    spend(size=int(byte_lengths(array).sum()) * max(times, 0), constants=[times])
    return map_distinct(lambda text: text * max(times, 0), array, pa.string())


def _padder(on_the_left: bool) -> Kernel:
    def pad(_: Call, array: pa.Array, width: int, padding: str = " ") -> pa.Array:
        known = len(array) - array.null_count
        spend(size=known * max(width, 0) * _bytes_a_letter(padding), constants=[width])
        if not known:
            return array
        filler = (padding * (width // len(padding) + 1) if padding else "")[: max(width, 0)]

        def padded(text: str) -> str:
            missing = filler[: max(0, width - len(text))]
            kept = text[: max(width, 0)]
            return missing + kept if on_the_left else kept + missing

        return map_distinct(padded, array, pa.string())

    return with_constants(pad, 1)


def _bytes_a_letter(text: str) -> int:
    return max((len(letter.encode()) for letter in {*text}), default=0)


def _space(_: Call, args: Sequence[Datum]) -> pa.Array:
    counts = np.maximum(values(args[0]), 0).astype(np.int64)
    spend(size=int(np.where(valid(args[0]), counts, 0).sum()))
    return map_distinct(lambda count: " " * max(count, 0), argument(args), pa.string())


def _split_part(_: Call, array: pa.Array, delimiter: str, part: int) -> pa.Array:
    """SPLIT_PART: the n-th part, from the end if n is negative; NULL for part 0."""
    if part == 0:
        return pa.nulls(len(array), pa.string())

    def pick(text: str) -> str:
        parts = text.split(delimiter) if delimiter else [text]
        at = part - 1 if part > 0 else len(parts) + part
        return parts[at] if 0 <= at < len(parts) else ""

    return map_distinct(pick, array, pa.string())


def _substring_index(_: Call, array: pa.Array, delimiter: str, count: int) -> pa.Array:
    """SUBSTRING_INDEX: the text before the n-th delimiter, or after it counting from the end."""
    if not delimiter or count == 0:
        return _emptied(array)

    def cut(text: str) -> str:
        parts = text.split(delimiter)
        return delimiter.join(parts[:count] if count > 0 else parts[count:])

    return map_distinct(cut, array, pa.string())


def _substring_test(kernel: Callable[[pa.Array, str], pa.Array]) -> Kernel:
    return with_constants(lambda _, array, search: kernel(array, search), 1)


def _over_documents(function: Callable[[str, str], object]) -> Kernel:
    def kernel(call: Call, documents: pa.Array, expression: str) -> pa.Array:
        def of_text(text: str | None) -> object:
            if text is None:
                return None
            spend(steps=xpath_steps(text, expression), constants=[expression])
            return function(text, expression)

        return map_distinct(of_text, documents, call.type.arrow())

    return with_constants(kernel, 1)


KERNELS: dict[str, Kernel] = {
    **regular_expressions.KERNELS,
    "upper": _recased(pc.ascii_upper, str.upper),
    "lower": _recased(pc.ascii_lower, str.lower),
    "initcap": _initcap,
    "trim": _trimmer(pc.utf8_trim),
    "ltrim": _trimmer(pc.utf8_ltrim),
    "rtrim": _trimmer(pc.utf8_rtrim),
    "length": _length,
    "octet_length": _octet_length,
    "bit_length": _bit_length,
    "ascii": _ascii,
    "chr": _chr,
    "space": _space,
    "substring": with_constants(_substring, 1),
    "substring_index": with_constants(_substring_index, 1),
    "left": with_constants(_left, 1),
    "right": with_constants(_right, 1),
    "concat": _concat,
    "concat_ws": _concat_ws,
    "replace": with_constants(_replace, 1),
    "translate": with_constants(_translate, 1),
    "instr": with_constants(_instr, 1),
    "locate": _locate,
    "reverse": _reverse,
    "repeat": with_constants(_repeat, 1),
    "lpad": _padder(True),
    "rpad": _padder(False),
    "startswith": _substring_test(pc.starts_with),
    "endswith": _substring_test(pc.ends_with),
    "contains": _substring_test(pc.match_substring),
    "split_part": with_constants(_split_part, 1),
    "xpath_string": _over_documents(xpath_string),
    "xpath_int": _over_documents(xpath_int),
    "xpath_long": _over_documents(xpath_long),
    "xpath_double": _over_documents(xpath_double),
    "xpath_boolean": _over_documents(xpath_boolean),
}
