"""Work that is more than in proportion to its input is counted: a law over all functions.

Work is measured by counts: the byte-codes of Python that a kernel runs, and the most memory that Python and
Arrow hold meanwhile. Law: if the input is twice as long, so is the work, or the kernel has counted it before.
"""

from __future__ import annotations

import ast
import sys
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from seine.algebra.expressions import Call, Column, Expression, Literal, Parameter, walk
from seine.algebra.functions import literal, resolve_call
from seine.algebra.functions.signatures import SIGNATURES
from seine.algebra.types import BIGINT, BOOLEAN, INT, JSON, STRING, Kind, Type
from seine.evaluate import kernels
from seine.evaluate.evaluate import KERNELS, evaluate
from seine.evaluate.kernels.spending import Called, Spender, TooMuchWork, spend
from tests.support.expression_examples import EXAMPLES

TWICE = 2.6  # what twice as much may be, with what does not grow
BYTE_CODES, BYTES = 5_000, 200_000  # that do not count
BYTE_CODES_A_STEP, MOST_COPIES = 60, 12  # what a counted step and a counted byte may stand for
HOSTILE_TEXTS: list[Callable[[int], str]] = [
    lambda size: "a" * size,
    lambda size: "ab" * (size // 2),
    lambda size: "b" * size,
    lambda size: "9" * size,
    lambda size: '"' + '\\"' * (size // 2) + "'",
    lambda size: "[" * (size // 2) + "a," * (size // 4),
    lambda size: "http://" + "a-." * (size // 3) + "!",
    lambda size: '{"a":' * (size // 6) + "1" + "}" * (size // 6),
    lambda size: "%s" * (size // 2),
    lambda size: "a.*b|a",
    lambda size: "éß😀" * (size // 3),
    lambda size: "",
    lambda size: "a",
]
# which text each argument has; in the last ones a short text among long ones
VARIANTS = [
    *([(first + place * (1 + first)) % 12 for place in range(6)] for first in range(12)),
    *([0, 12, 2, 0, 0, 0], [1, 12, 10, 1, 1, 1], [12, 0, 0, 0, 0, 0]),
]


# what no query writes, of windows and trees whose rows and sizes are counted elsewhere
NOT_TRIED = [
    *("window_start", "window_end", "window", "session_window", "pane", "until", "closing_time"),
    *("tree_edges", "tree_matches", "tree_tuples", "contains_term", "weighted"),
]
CONSTANT = literal("9,999.99")
FURTHER = [  # beside the examples
    *(resolve_call(name, [Column(0, BIGINT), Column(1, BIGINT)]) for name in ("bitwise_and", "bitwise_or")),
    resolve_call("bitwise_not", [Column(0, BIGINT)]),
    resolve_call("shiftright", [Column(0, BIGINT), Column(1, INT)]),
    *(Call(name, (Column(0, STRING), CONSTANT), Type.parse("DECIMAL(6,2)")) for name in ("to_number",)),
    Call("to_char", (Column(0, Type.parse("DECIMAL(6,2)")), CONSTANT), STRING),
    Call("xpath_long", (Column(0, STRING), literal("a[.//b]")), BIGINT),
    Call("order_key", (Column(0, STRING),), STRING),
    *(Call(name, (Column(0, STRING), literal("a")), STRING) for name in ("json_field", "json_string_field")),
    Call("json_field", (Column(0, STRING), literal("a")), INT),
    Call("json_object", (Column(0, STRING), literal("a")), JSON),
    *(
        Call(name, (Column(0, Type.parse("ARRAY<STRING>")),), STRING)
        for name in ("array_json", "array_record")
    ),
]


class Measured(NamedTuple):
    """What one evaluation took, and what it had counted before."""

    byte_codes: int
    memory: int
    steps: int
    size: int


class Counting(Spender):
    """Counts without a bound."""

    def __init__(self) -> None:
        super().__init__(10**18, 2**31 - 1)
        self.steps = self.size = 0

    def spend(self, called: Called, steps: int, size: int) -> None:
        self.steps, self.size = self.steps + steps, self.size + size


def all_calls() -> dict[str, Call]:
    """A call of each function, of columns where its kernel takes columns."""
    calls: dict[str, Call] = {}
    for name, signature in SIGNATURES.items():
        wanted = signature.parameters * (2 if signature.variadic else 1)
        calls[name] = signature.bind(name, [Column(i, type_) for i, type_ in enumerate(wanted)])  # type: ignore[assignment]
    for expression in [*FURTHER, *(example for example, _ in EXAMPLES)]:
        for part in walk(expression):
            if isinstance(part, Call) and part.name not in SIGNATURES:
                key = f"{part.name} {', '.join(str(arg.type) for arg in part.args)} {part.type}"
                calls.setdefault(key, _of_columns(part))
    return calls


def _of_columns(call: Call) -> Call:
    """The call with columns for all but the constants that a query must write."""
    args = [
        arg
        if isinstance(arg, Literal) and (i or call.name in CONSTANT_FIRST) and arg.type == STRING
        else Column(i, arg.type)
        for i, arg in enumerate(call.args)
    ]
    return Call(call.name, tuple(args), call.type)


CONSTANT_FIRST = ("format_string", "date_trunc")
CALLS = all_calls()
WITH_TEXTS = {name: call for name, call in CALLS.items() if any(_ for _ in call.args if _.type.is_text)}


def column(type_: Type, place: int, size: int, number: int, variant: int) -> pa.Array:
    """Two rows of hostile values: texts of a size, arrays of as many items, numbers."""
    text = HOSTILE_TEXTS[VARIANTS[variant][min(place, 5)]](size)
    if type_.kind is Kind.TEXTS:
        return pa.array([["ab"] * size, [text]], type_.arrow())
    if type_.is_text:
        return pa.array([text, text[::-1]], pa.string())
    if type_.kind is Kind.NULL:
        return pa.nulls(2)
    if type_.kind is Kind.DECIMAL:
        return pa.array([None, 0], type_.arrow())
    return pa.array([number, 1]).cast(pa.int64()).cast(pa.float64()).cast(_plain(type_)).cast(type_.arrow())


def _plain(type_: Type) -> pa.DataType:
    if type_.kind in (Kind.INT, Kind.DATE, Kind.YEAR_MONTH):
        return pa.int32()
    return pa.int64() if type_.kind in (Kind.TIMESTAMP, Kind.DAY_TIME, Kind.BIGINT) else pa.float64()


def columns(call: Call, size: int, number: int, variant: int) -> list[pa.Array]:
    return [column(arg.type, i, size, number, variant) for i, arg in enumerate(call.args)]


def measured(call: Expression, given: list[pa.Array], *, by_code: bool) -> Measured:
    counting, count = Counting(), 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    usual, pool = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(pool)
    tracemalloc.start()
    before = sys.gettrace()
    try:
        with counting.counting():
            if by_code:
                sys.settrace(trace)
            evaluate(call, given, 2)
    finally:
        sys.settrace(before)
        memory = tracemalloc.get_traced_memory()[1] + pool.max_memory()
        tracemalloc.stop()
        pa.set_memory_pool(usual)
    return Measured(count, memory, counting.steps, counting.size)


def complaints(name: str, call: Call, sizes: tuple[int, int], *, by_code: bool) -> Iterator[str]:
    """Where work grows more than its input without having been counted."""
    for variant in range(len(VARIANTS)):
        for size in sizes:
            evaluate(call, columns(call, size, 3, variant), 2)  # what is bounded and kept, of patterns
        once, twice = (measured(call, columns(call, size, 3, variant), by_code=by_code) for size in sizes)
        if twice.byte_codes > TWICE * once.byte_codes + BYTE_CODES + twice.steps * BYTE_CODES_A_STEP:
            yield f"{name} of {variant} runs {once.byte_codes}, then {twice.byte_codes} byte-codes"
        if twice.memory > TWICE * once.memory + BYTES + twice.size * MOST_COPIES:
            yield f"{name} of {variant} takes {once.memory}, then {twice.memory} bytes"


def test_every_kernel_is_tried() -> None:
    tried = {call.name for call in CALLS.values()}
    assert sorted({*KERNELS} - tried) == sorted(NOT_TRIED)
    assert len(WITH_TEXTS) > 100


@pytest.mark.parametrize("name", sorted(WITH_TEXTS))
def test_byte_codes_grow_with_the_input_or_are_counted(name: str) -> None:
    assert not [*complaints(name, WITH_TEXTS[name], (150, 300), by_code=True)]


@pytest.mark.parametrize("name", sorted(WITH_TEXTS))
def test_memory_grows_with_the_input_or_is_counted(name: str) -> None:
    assert not [*complaints(name, WITH_TEXTS[name], (1_500, 3_000), by_code=False)]


@pytest.mark.parametrize("name", sorted(CALLS))
def test_no_number_makes_much_without_being_counted(name: str) -> None:
    call = CALLS[name]
    for variant in range(4):
        spent = measured(call, columns(call, 8, 1_000_000, variant), by_code=False)
        assert spent.memory <= 500_000 + spent.size * MOST_COPIES, f"{spent} of {variant}"


@pytest.mark.parametrize("name", ["repeat", "lpad", "rpad", "space", "array_repeat"])
def test_what_is_over_a_bound_is_not_made(name: str) -> None:
    call = SIGNATURES[name].bind(name, [Column(i, t) for i, t in enumerate(SIGNATURES[name].parameters)])
    pool = pa.default_memory_pool()
    before = pool.bytes_allocated()
    tracemalloc.start()
    with pytest.raises(TooMuchWork), Spender(10**9, 10**6).counting():
        evaluate(call, columns(call, 8, 500_000_000, 0), 2)  # type: ignore[arg-type]
    assert tracemalloc.get_traced_memory()[1] < 10**6 > pool.bytes_allocated() - before
    tracemalloc.stop()


@pytest.mark.parametrize("name", ["coalesce", "concat", "concat_ws", "greatest", "least", "case", "array"])
def test_a_long_constant_is_counted_before_it_is_copied_into_rows(name: str) -> None:
    first = (
        (Column(1, BOOLEAN), Parameter(0, STRING))
        if name == "case"
        else (Column(0, STRING), Parameter(0, STRING))
    )
    type_ = Type.parse("ARRAY<STRING>") if name == "array" else STRING
    call, rows = Call(name, (*first, Column(0, STRING)), type_), 1_000
    given = [pa.array(["b", None] * (rows // 2)), pa.array([True] * rows)]
    before = pa.total_allocated_bytes()
    with pytest.raises(TooMuchWork), Spender(10**9, 5 * 10**6).counting():
        evaluate(call, given, rows, [pa.scalar("x" * 10_000)])
    assert pa.total_allocated_bytes() - before < 10**6


def test_nothing_is_counted_where_nobody_asks() -> None:
    spend(steps=10**18, size=10**18)
    with Spender(10, 10).counting():
        spend(steps=10, size=10)
        with pytest.raises(TooMuchWork, match="more than 10 steps"):
            spend(steps=1)


SEARCHES = ("count_substring_regex", "split_pattern_regex", "replace_substring_regex")


def test_the_sum_is_bounded_by_the_budget_and_each_column_by_its_offsets() -> None:
    """Sizes are counted, and nothing is made."""
    gibibyte = 1 << 30
    with Spender(steps=1, size=100 * gibibyte).counting():
        for _ in range(50):
            spend(size=gibibyte)
        with pytest.raises(TooMuchWork, match="more than 2,147,483,647 bytes of values at once"):
            spend(size=2 * gibibyte)
        for _ in range(48):
            spend(size=gibibyte)
        with pytest.raises(TooMuchWork, match=r"more than 107,374,182,400 bytes of values$"):
            spend(size=1)


def test_searches_for_all_matches_of_a_users_pattern_are_counted() -> None:
    """What runs outside of Python is told by its name: who searches again and again counts that."""
    functions = [
        node for path in _kernel_files() for node in ast.walk(ast.parse(path.read_text())) if _named(node)
    ]
    searching = [one for one in functions if any(_searches(node) for node in ast.walk(one))]
    counted = [one for one in searching if "spend_on_searches" in ast.dump(one)]
    assert len(counted) >= 3
    assert [one.name for one in searching if one not in counted] == []  # type: ignore[attr-defined]


def test_distances_of_texts_are_counted() -> None:
    sources = [path.read_text() for path in _kernel_files()]
    assert [source for source in sources if "rapidfuzz" in source]
    assert all("spend(" in source for source in sources if "rapidfuzz" in source)


def _kernel_files() -> list[Path]:
    return sorted(Path(kernels.__file__).parent.glob("*.py"))


def _named(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef)


def _searches(node: ast.AST) -> bool:
    """A call of such a search, or of `re`, with a pattern that is no constant of the code."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    module = getattr(node.func.value, "id", "")
    if node.func.attr in SEARCHES:
        return not isinstance(node.args[1], ast.Constant | ast.JoinedStr) and not _is_constant(node.args[1])
    of_patterns = module == "re" and node.func.attr in ("search", "findall", "sub", "split", "finditer")
    return of_patterns and not isinstance(node.args[0], ast.Constant) and not _is_constant(node.args[0])


def _is_constant(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id.lstrip("_").isupper()


BOUND, INPUT, DEPTH = 200_000, 2_000, 12
COPIED = 24  # times the bound: what a kernel holds beside its arguments and its result, and the kept parts


def nested(call: Call) -> Expression:
    """The call of itself as often as may be, in each place where its own result may stand."""
    made: Expression = call
    for _ in range(DEPTH):
        args = [made if arg.type == call.type and isinstance(arg, Column) else arg for arg in call.args]
        made = Call(call.name, tuple(args), call.type)
    return made


NESTED = {
    **{name: call for name, call in WITH_TEXTS.items() if any(arg.type == call.type for arg in call.args)},
    "json_object": Call("json_object", (Column(0, STRING), literal("a")), STRING),
    "json_object of signs": Call("json_object", (Column(0, STRING), literal('\\"')), STRING),
}


@pytest.mark.parametrize("name", sorted(NESTED))
@pytest.mark.parametrize("variant", [0, 4])
def test_what_nested_calls_make_is_within_the_bound_or_refused(name: str, variant: int) -> None:
    call = NESTED[name]
    given = columns(call, INPUT, 3, variant)
    size = sum(array.nbytes for array in given)
    usual, pool = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        with Spender(10**6, BOUND).counting():
            evaluate(nested(call), given, 2)
    except TooMuchWork:
        pass  # as it should; what it has taken until then is looked at
    finally:
        memory = tracemalloc.get_traced_memory()[1] + pool.max_memory()
        tracemalloc.stop()
        pa.set_memory_pool(usual)
    assert memory <= BYTES + COPIED * (BOUND + size), f"{name} takes {memory} bytes"


GROW_NO_MORE = (
    "upper",
    "lower",
    "reverse",
    "substring",
    "trim",
    "ltrim",
    "rtrim",
    "left",
    "right",
    "initcap",
)


@pytest.mark.parametrize("name", ["hex", "base64", "json_object", "concat"])
def test_nested_calls_that_multiply_are_refused(name: str) -> None:
    call = NESTED.get(name) or Call(name, (Column(0, STRING),) * 2, STRING)
    text = "\\" * INPUT * 10
    with pytest.raises(TooMuchWork, match=name), Spender(10**9, BOUND).counting():
        evaluate(nested(call), [pa.array([text, "a"]), pa.array([text, "a"])], 2)


def test_a_function_that_counts_nothing_is_counted_when_its_result_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def thrice(_: Call, args: Sequence[Any]) -> pa.Array:
        return pc.binary_repeat(args[0], 3)

    monkeypatch.setitem(KERNELS, "thrice", thrice)
    counting = Counting()
    with counting.counting():
        evaluate(Call("thrice", (Column(0, STRING),), STRING), [pa.array(["a" * 1_000] * 10)], 10)
    assert 10 * (2_000 - 256) - 100 <= counting.size <= 10 * 2_000
    with pytest.raises(TooMuchWork, match="thrice"), Spender(0, 10**6).counting():
        evaluate(nested(Call("thrice", (Column(0, STRING),), STRING)), [pa.array(["a" * 1_000])], 1)


@pytest.mark.parametrize("name", ["upper", "concat", "hex", "base64", "json_object", "coalesce", "cast"])
def test_results_of_short_texts_and_of_the_size_of_their_input_do_not_count(name: str) -> None:
    """However many the rows are: a node meets those of all batches and all queries."""
    texts = ["ab" * 5_000, "b"] if name in ("upper", "coalesce") else ["some words", "b"]
    column_ = Column(0, BIGINT if name == "cast" else STRING)
    second = {"concat": (column_,), "coalesce": (literal("x"),), "json_object": (literal("key"),)}
    call = Call(name, (column_, *second.get(name, ())), STRING)
    array = pa.array([1, 2] * 500) if name == "cast" else pa.array(texts * 500)
    counting = Counting()
    with counting.counting():
        evaluate(call, [array], 1_000)
    assert (counting.steps, counting.size) == (0, 0)
