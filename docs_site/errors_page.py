"""The reference page of refusals: every message in the code, with its hint, by what refuses."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from repository_pages import ROOT

from seine import errors
from seine.service.http.refusals import refusal_of

SOURCE = ROOT / "src" / "seine"
_HEAD = """# What it refuses

An error has a primary line, a place and a hint. Here is every line that the code has, by the package that
says it; what stands in `{...}` is filled in. A command ends with the [exit status](../cli.md#exit-statuses)
of the error's class, a service answers [its HTTP status](../service.md#refusals).

| class | exit status | over HTTP | |
| --- | --- | --- | --- |
"""
_MESSAGES_OF_CURSORS = ("error", "refuse")  # methods that give an error with the place of a token


class Message(NamedTuple):
    text: str
    hint: str


def errors_page() -> str:
    lines = [_HEAD.rstrip("\n"), *map(_class_row, _classes()), ""]
    for package in sorted(path for path in SOURCE.iterdir() if path.is_dir()):
        messages = sorted({one for file in package.rglob("*.py") for one in _messages(file)})
        if messages:
            lines += [f"## seine.{package.name}", "", "| it says | hint |", "| --- | --- |"]
            lines += [f"| {_cell(one.text)} | {_cell(one.hint)} |" for one in messages]
            lines.append("")
    return "\n".join(lines)


def _classes() -> list[type[errors.SeineError]]:
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass)]
    return [kind for kind in kinds if issubclass(kind, errors.SeineError)]


def _class_row(kind: type[errors.SeineError]) -> str:
    example = kind("file", "message") if kind is errors.SourceError else kind("message")
    status = refusal_of(example).status
    said = (kind.__doc__ or "").split("\n")[0]
    return f"| `{kind.__name__}` | {kind.exit_status} | {status.value} {status.phrase} | {said} |"


def _messages(path: Path) -> Iterator[Message]:
    """The errors that a file makes with a text of its own."""
    for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(call, ast.Call) and call.args and _gives_error(call.func):
            texts = [_text(argument) for argument in call.args[:2]]
            text = texts[0] or (texts[1] if len(texts) > 1 and _name(call.func) == "SourceError" else None)
            hints = [_text(word.value) for word in call.keywords if word.arg == "hint"]
            if _name(call.func) in _MESSAGES_OF_CURSORS:
                hints += texts[1:]
            if text:
                yield Message(text, next((hint for hint in hints if hint), ""))


def _gives_error(function: ast.expr) -> bool:
    name = _name(function)
    return (name.endswith("Error") and name != "ValueError") or name in _MESSAGES_OF_CURSORS


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _text(node: ast.expr) -> str | None:
    """A literal text, with `{...}` where something is filled in; None of what is none."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) and " " in node.value else None
    if not isinstance(node, ast.JoinedStr):
        return None
    parts = [str(part.value) if isinstance(part, ast.Constant) else "{...}" for part in node.values]
    return "".join(parts)


def _cell(text: str) -> str:
    """A text as a cell of a table, whatever Markdown would take its characters for."""
    return re.sub(r"([\\|*_\[\]`$])", r"\\\1", text.replace("<", "&lt;").replace("\n", " "))
