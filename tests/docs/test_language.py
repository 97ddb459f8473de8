"""Every clause, type, option, format and function of the script language is documented."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from seine.algebra.functions import function_names
from seine.algebra.functions.aggregate_calls import BUILT_IN, COMPOSED, ORDERED
from seine.algebra.functions.function_hints import LEFT_OUT
from seine.algebra.functions.resolve_call import ALIASES
from seine.algebra.functions.signatures import SIGNATURES, Signature
from seine.algebra.star import SHEDDING_POLICIES
from seine.cli.main import main
from seine.errors import SeineError
from seine.frontends.script.create_stream import TYPES
from seine.frontends.script.from_source import BOUNDS, FORMATS, OPTIONS, RELATION_OPTIONS, SPARK_OPTIONS
from seine.frontends.script.parser import parse_script
from tests.docs.pages import DOCS, blocks, check_generated, prose, quoted, read, rows

PAGE = DOCS / "language.md"
OPERATORS = (
    *(
        "add",
        "sub",
        "mul",
        "div",
        "int_div",
        "mod",
        "neg",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "eq_null_safe",
    ),
    *("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "split_item"),
    *(
        "and",
        "or",
        "not",
        "between",
        "in",
        "like",
        "ilike",
        "rlike",
        "is_null",
        "is_not_null",
        "case",
        "extract",
    ),
)


def _hint_of(statement: str) -> str:
    with pytest.raises(SeineError) as refusal:
        parse_script(statement, file="s.sql", folder=".")
    return refusal.value.hint or ""


def _documented(head: str) -> set[str]:
    """What stands in backticks in the first column of the table with this head."""
    table = prose(PAGE).split(f"| {head} |", 1)[1].split("\n\n", 1)[0]
    return {name for row in rows(table) for name in quoted(row[0])}


def test_query_options() -> None:
    hint = _hint_of("CREATE QUERY q WITH (no_such_option = 1) AS SELECT 1 FROM s;")
    options = set(hint.removeprefix("options: ").split(", "))
    assert {"unbounded", "limit"} <= options
    assert _documented("query option") == options
    assert all(f"`'{shedder}'`" in read(PAGE) for shedder in SHEDDING_POLICIES)


def test_clauses_of_streams() -> None:
    hint = _hint_of("CREATE STREAM s (ts BIGINT) NO_SUCH_CLAUSE;")
    clauses = set(hint.removeprefix("possible here: ").split(", "))
    assert {"WINDOW", "FROM"} <= clauses
    assert {clause.split()[0] for clause in _documented("clause")} == clauses


def test_formats() -> None:
    assert [name for name in FORMATS if f"`{name}`" not in read(PAGE)] == []


def test_source_options() -> None:
    by_format = {option for options in OPTIONS.values() for option in options}
    assert _documented("source option") == by_format | {
        "namespaces",
        *RELATION_OPTIONS,
        *BOUNDS,
        *SPARK_OPTIONS,
    }


def test_types() -> None:
    table = prose(PAGE).split("\n## Types\n", 1)[1].split("\n## ", 1)[0]
    named = {name.split("(")[0] for name in quoted(table)}
    assert set(TYPES) | {"DECIMAL"} <= named


def test_functions(pytestconfig: pytest.Config) -> None:
    check_generated(PAGE, "functions", _functions(), pytestconfig.getoption("--update"))
    text = read(PAGE)
    assert [name for name in function_names() if f"`{name}`" not in text and f"`{name}(" not in text] == []


def test_left_out(pytestconfig: pytest.Config) -> None:
    check_generated(PAGE, "left out", _left_out(), pytestconfig.getoption("--update"))


def test_aggregates(pytestconfig: pytest.Config) -> None:
    check_generated(PAGE, "aggregates", _aggregates(), pytestconfig.getoption("--update"))


@pytest.mark.parametrize("page", ["language.md", "life_of_a_query.md"])
def test_scripts_are_accepted(page: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scripts = blocks(DOCS / page, "sql")
    assert scripts
    for schema in (text for text in blocks(DOCS / page, "json") if '"type": "record"' in text):
        (tmp_path / "bid.avsc").write_text(schema, encoding="utf-8")
    for text in scripts:
        script = tmp_path / "script.sql"
        script.write_text(text, encoding="utf-8")
        assert main(["check", str(script)]) == 0, capsys.readouterr().err


def _functions() -> str:
    """Functions of fixed types with their signatures, then the others, then other names for some of them."""
    others = [name for name in function_names() if name not in {*SIGNATURES, *ALIASES, *OPERATORS}]
    lines = ["| function | gives |", "| --- | --- |"]
    lines += [
        f"| `{name}({_parameters(signature)})` | {signature.result} |"
        for name, signature in sorted(SIGNATURES.items())
    ]
    lines += [
        "",
        "The type of these follows from their arguments, or they cast to the type they are named after:",
        "",
    ]
    lines += [
        _listed(others),
        "",
        "What SQL writes as an operator or in a form of its own is a function in plans:",
        "",
    ]
    lines += [_listed(OPERATORS), ""]
    lines += ["Some have other names too:", "", "| also | is |", "| --- | --- |"]
    return "\n".join(lines + [f"| `{also}` | `{name}` |" for also, name in sorted(ALIASES.items())])


def _parameters(signature: Signature) -> str:
    texts = [str(type_) for type_ in signature.parameters]
    if signature.variadic:
        return ", ".join([*texts, "..."])
    needed = ", ".join(texts[: signature.required])
    return needed + "".join(f"[, {text}]" for text in texts[signature.required :])


def _left_out() -> str:
    """Functions of Spark that are not there, by group."""
    lines = ["| of Spark, not here | because | instead |", "| --- | --- | --- |"]
    for group in LEFT_OUT:
        names = ", ".join(f"`{name}`" for name in group.names)
        lines.append(f"| {group.title}: {names} | {group.reason} | {group.hint} |")
    return "\n".join(lines) + "\n"


def _aggregates() -> str:
    return _listed(name for name in (*BUILT_IN, *ORDERED, *COMPOSED) if name != "count_all") + "\n"


def _listed(names: Iterable[str]) -> str:
    """Names in backticks, wrapped like prose."""
    lines: list[str] = []
    line = ""
    for name in names:
        word = f"`{name}`"
        if len(line) + len(word) > 110:
            lines, line = [*lines, line.rstrip()], ""
        line += f"{word}, "
    return "\n".join([*lines, line.rstrip(", ")])
