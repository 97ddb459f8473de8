"""Type resolution of functions that make or take arrays of texts, which exist within expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from seine.algebra.expressions import Call, Expression, Literal
from seine.algebra.functions.casting import implied_cast, literal
from seine.algebra.functions.logic_types import check_regex, check_separator, resolve_case, resolve_comparison
from seine.algebra.functions.signatures import SIGNATURES
from seine.algebra.functions.widening import TypeMismatch
from seine.algebra.types import INT, JSON, NULL, STRING, TEXTS

Resolver = Callable[[Sequence[Expression]], Expression]


def _resolve_array(args: Sequence[Expression]) -> Expression:
    """ARRAY(a, b, ...) of texts."""
    other = next((arg for arg in args if arg.type not in (STRING, NULL)), None)
    if other is not None:
        hint = "x IN (a, b), greatest(a, b), least(a, b), or CAST(... AS STRING)"
        raise TypeMismatch(f"array holds texts, not {other.type}", hint=hint)
    return Call("array", tuple(implied_cast(arg, STRING, "an item of array") for arg in args), TEXTS)


def _resolve_size(args: Sequence[Expression]) -> Expression:
    """SIZE of an array, also of one that an aggregate has collected."""
    if args[0].type == JSON:
        return Call("json_array_length", (args[0],), INT)
    return Call("size", (implied_cast(args[0], TEXTS, "the argument of size"),), INT)


def _resolve_reverse(args: Sequence[Expression]) -> Expression:
    """REVERSE of a text or of an array."""
    if args[0].type == TEXTS:
        return Call("array_reverse", (args[0],), TEXTS)
    return SIGNATURES["reverse"].bind("reverse", args)


def _resolve_concat(args: Sequence[Expression]) -> Expression:
    """CONCAT of arrays, or of texts, where nested || become one concatenation."""
    if any(arg.type == TEXTS for arg in args):
        return Call(
            "array_concat", tuple(implied_cast(arg, TEXTS, "an argument of concat") for arg in args), TEXTS
        )
    flat: list[Expression] = []
    for arg in args:
        nested = isinstance(arg, Call) and arg.name == "concat"
        flat.extend(arg.args if nested and isinstance(arg, Call) else [arg])
    return SIGNATURES["concat"].bind("concat", flat)


def _resolve_concat_ws(args: Sequence[Expression]) -> Expression:
    """CONCAT_WS: an array adds its items, and nothing if it has none."""
    parts = [_joined_items(arg, args[0]) if arg.type == TEXTS else arg for arg in args]
    return SIGNATURES["concat_ws"].bind("concat_ws", parts)


def _joined_items(array: Expression, separator: Expression) -> Expression:
    items = Call("array_compact", (array,), TEXTS)
    joined = SIGNATURES["array_join"].bind("array_join", [items, separator])
    return resolve_case([resolve_comparison("gt", Call("size", (items,), INT), literal(0)), joined])


def _resolve_split(args: Sequence[Expression]) -> Expression:
    call = SIGNATURES["split"].bind("split", args)
    check_separator(call.args[1])
    return call


def _resolve_extract_all(args: Sequence[Expression]) -> Expression:
    call = SIGNATURES["regexp_extract_all"].bind("regexp_extract_all", args)
    check_regex(call.args[1])
    check_separator(call.args[1])
    return call


def _resolve_slice(args: Sequence[Expression]) -> Expression:
    """SLICE(array, start, length); start 0 and a negative length are refused where they are constants."""
    call = SIGNATURES["slice"].bind("slice", args)
    start, length = call.args[1:]
    if isinstance(start, Literal) and start.value == 0:
        raise TypeMismatch("slice counts from 1, or from the end by -1")
    if isinstance(length, Literal) and isinstance(length.value, int) and length.value < 0:
        raise TypeMismatch("slice takes no negative length")
    return call


RESOLVERS: dict[str, tuple[int, int | None, Resolver]] = {
    "array": (1, None, _resolve_array),
    "size": (1, 1, _resolve_size),
    "reverse": (1, 1, _resolve_reverse),
    "concat": (1, None, _resolve_concat),
    "concat_ws": (1, None, _resolve_concat_ws),
    "split": (2, 3, _resolve_split),
    "regexp_extract_all": (2, 3, _resolve_extract_all),
    "slice": (3, 3, _resolve_slice),
}
