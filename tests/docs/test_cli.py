"""Every command, option and setting is documented; the tables of docs/cli.md are those of the parser."""

from __future__ import annotations

import argparse
import re
from collections import defaultdict

import pytest

from seine.cli.main import _parser
from seine.cli.option_settings import COMMANDS, Setting, settings_of
from seine.network.plan.strategy import CONFIGURATIONS
from tests.docs.pages import DOCS, ROOT, check_generated, prose, quoted, read, rows

PAGE = DOCS / "cli.md"


def _commands() -> argparse._SubParsersAction[argparse.ArgumentParser]:
    return next(a for a in _parser()._actions if isinstance(a, argparse._SubParsersAction))


def _available() -> dict[str, argparse.ArgumentParser]:
    return {name: parser for name, parser in _commands().choices.items() if parser.add_help}


def _shown(action: argparse.Action) -> str:
    """An option or argument as one types it."""
    if action.option_strings:
        return " ".join([action.option_strings[-1], *([str(action.metavar)] if action.nargs != 0 else [])])
    name = str(action.metavar or action.dest)
    return f"[{name}]" if action.nargs == "?" else name


def _table(name: str, parser: argparse.ArgumentParser) -> list[str]:
    actions = [action for action in parser._actions if action.dest != "help"]
    head = " ".join([f"seine {name}", *[_shown(action) for action in actions if not action.option_strings]])
    listed = [f"| `{_shown(action)}` | {action.help} |" for action in actions if action.help]
    return [f"| `{head}` | |", "| --- | --- |", *listed, ""] if listed else []


def _tables() -> str:
    helps = {action.dest: action.help for action in _commands()._choices_actions}
    lines = [
        "| command | |",
        "| --- | --- |",
        *[f"| `seine {name}` | {text} |" for name, text in helps.items()],
        "",
    ]
    for name, parser in _available().items():
        lines += _table(name, parser)
    return "\n".join(lines)


def test_tables_are_those_of_the_parser(pytestconfig: pytest.Config) -> None:
    check_generated(PAGE, "commands", _tables(), pytestconfig.getoption("--update"))


def _settings() -> str:
    """The names of every setting that is not only typed, and which commands have it."""
    named: dict[str, list[Setting]] = defaultdict(list)
    for command in COMMANDS:
        for setting in settings_of(command, _available()[command]):
            named[setting.key].append(setting)
    lines = ["| in `seine.toml` | in the environment |", "| --- | --- |"]
    for key, settings in sorted(named.items()):
        kind = " (true or false)" if settings[0].flag else " (a list)" if settings[0].repeated else ""
        variables = ", ".join(f"`{setting.variable}`" for setting in settings)
        lines.append(f"| `{key}`{kind} | {variables} |")
    return "\n".join(lines)


def test_settings_are_those_of_the_parser(pytestconfig: pytest.Config) -> None:
    check_generated(PAGE, "settings", _settings(), pytestconfig.getoption("--update"))


@pytest.mark.parametrize("name", sorted(_available()))
def test_available_command_has_a_section(name: str) -> None:
    assert f"\n## seine {name}\n" in read(PAGE)


def test_options_are_found() -> None:
    options = {
        option
        for parser in _available().values()
        for action in parser._actions
        for option in action.option_strings
    }
    assert {"--out", "--checkpoint", "--json"} <= options
    documented = set(re.findall(r"`(--[\w-]+)", read(PAGE)))
    assert options - documented == {"-h", "--help"}


def test_environment_variables_are_documented() -> None:
    source = "\n".join(read(path) for path in (ROOT / "src" / "seine").rglob("*.py"))
    used = set(re.findall(r"environ(?:\.get\(|\[)\"([A-Z_]+)\"", source))
    assert used
    assert used - set(quoted(prose(PAGE))) == set()


def test_ways_of_sharing_are_documented() -> None:
    """They are outside of `--help`, so this table is the only one."""
    text = read(PAGE).partition("## Ways of sharing")[2].partition("## Settings")[0]
    named = [name for row in rows(text) for name in quoted(row[0]) if name != "SEINE_SHARING"]
    assert sorted(named) == sorted(CONFIGURATIONS)


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^(\w+):", read(ROOT / "Makefile"), re.MULTILINE))
    text = read(ROOT / "README.md") + read(ROOT / "CONTRIBUTING.md")
    named = set(re.findall(r"(?:^\$ |`)make (\w+)", text, re.MULTILINE))
    assert {"install", "test", "lint", "demo", "bench"} <= named <= targets
