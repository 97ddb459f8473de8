"""The reference page of settings: every option by where it is given, with a link to what it does."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable

from seine.cli.main import _parser
from seine.frontends.script.create_query import QUERY_OPTIONS
from seine.frontends.script.create_sink import SINK_OPTIONS
from seine.frontends.script.from_source import BOUNDS, OPTIONS, SPARK_OPTIONS

_HEAD = """# Settings

Every setting by the place where it is given. What is an option of `seine serve`, `run` or `try` may be in
`seine.toml` and in the environment too: [how, and other variables](../cli.md#settings).
"""


def settings_page() -> str:
    lines = [_HEAD]
    lines += _listed("Of a query", "CREATE QUERY q WITH (...)", QUERY_OPTIONS, "create-query")
    sources = {option for options in OPTIONS.values() for option in options}
    names = sorted({*sources, *BOUNDS, *SPARK_OPTIONS, "namespaces", "table", "follow"})
    lines += _listed("Of a source", "CREATE STREAM s (...) ... WITH (...)", names, "create-stream")
    for kind, options in SINK_OPTIONS.items():
        if options:
            lines += _listed(f"Of a sink: {kind}", "CREATE SINK s ... WITH (...)", options, "create-sink")
    return "\n".join([*lines, *_of_commands()])


def _listed(title: str, form: str, names: Iterable[str], anchor: str) -> list[str]:
    texts = ", ".join(f"`{name}`" for name in names)
    return [f"## {title}", "", f"`{form}`: {texts}. [What they mean](../language.md#{anchor}).", ""]


def _of_commands() -> list[str]:
    """A row for each option, with the commands that have it."""
    helps: dict[str, str] = {}
    commands: dict[str, list[str]] = defaultdict(list)
    for name, parser in _commands().items():
        for action in parser._actions:
            for option in action.option_strings[-1:]:
                helps.setdefault(option, action.help or "")
                commands[option].append(name)
    rows = [
        f"| `{option}` | {', '.join(_link(name) for name in commands[option])} | {helps[option]} |"
        for option in sorted(helps)
        if option != "--help"
    ]
    return ["## Of commands", "", "| option | of | |", "| --- | --- | --- |", *rows, ""]


def _link(command: str) -> str:
    return f"[{command}](../cli.md#seine-{command})"


def _commands() -> dict[str, argparse.ArgumentParser]:
    groups = [action for action in _parser()._actions if isinstance(action, argparse._SubParsersAction)]
    return {name: parser for name, parser in groups[0].choices.items() if parser.add_help}
