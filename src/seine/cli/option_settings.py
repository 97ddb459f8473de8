"""Options of commands that are settings too: of a file, `seine.toml`, and of the environment.

The parser of a command is the one list of them: `--source-root` is `source-root` in the table of the command,
and `SEINE_SERVE_SOURCE_ROOT`. What is typed counts before the environment, that before the file, that before
defaults.
"""

from __future__ import annotations

import argparse
import os
import re
import stat
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from seine.errors import Position, SeineError, printable
from seine.frontends.text.lexer import suggest

COMMANDS = ("serve", "run", "try")  # those that have a table
FILE_NAME = "seine.toml"
_MOST_BYTES = 1 << 20
_PLACE = re.compile(r"(.*) \(at line (\d+), column (\d+)\)", re.DOTALL)


@dataclass(frozen=True)
class ConfigFile:
    """The tables of a file, by command; the settings in them are not looked at yet."""

    path: str
    tables: Mapping[str, Mapping[str, Any]]

    def table(self, command: str) -> Mapping[str, Any]:
        return self.tables.get(command, {})


def find_config(option: str | None) -> ConfigFile | None:
    """The file that the option `--config` names; else `seine.toml` here; else what `SEINE_CONFIG` names.

    One that merely lies here counts if nobody else could have written it: it may name code that is run.
    """
    if option is not None:
        return read_config(option)
    if os.path.lexists(FILE_NAME):
        return read_config(FILE_NAME, asked_for=False)
    named = os.environ.get("SEINE_CONFIG")
    return read_config(named) if named else None


def read_config(path: str, asked_for: bool = True) -> ConfigFile:
    """A file whose text is TOML and whose tables are of commands that have settings.

    One that nobody has `asked_for` by name is refused if others could have written it.
    """
    try:
        document = tomllib.loads(_text(path, asked_for))
    except tomllib.TOMLDecodeError as error:
        raise _wrong_syntax(path, str(error)) from None
    except RecursionError:
        raise SeineError(f"{path}: tables or lists are nested too deep") from None
    except ValueError:  # Python reads no number of thousands of digits
        raise SeineError(f"{path}: a number has too many digits") from None
    for name, value in document.items():
        _check_table(path, name, value)
    return ConfigFile(path, document)


def _text(path: str, asked_for: bool) -> str:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe that nobody writes to is not waited for
        with open(handle, "rb") as file:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise SeineError(f"'{path}' is no file", hint="settings are in a file, such as seine.toml")
            if not asked_for:
                _refuse_strange(path, status)
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise SeineError(f"cannot read '{path}': {error.strerror}") from error
    except ValueError:  # a NUL in the path
        raise SeineError(f"cannot read '{path}': no file has such a name") from None
    if len(content) > _MOST_BYTES:
        raise SeineError(f"'{path}' has more than {_MOST_BYTES:,} bytes", hint="is it a file of settings?")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise SeineError(f"'{path}' is not UTF-8, from byte {error.start} on") from None


def _refuse_strange(path: str, status: os.stat_result) -> None:
    """Refuse a file that others own or may write to, by the status of what was opened."""
    if status.st_uid not in (os.geteuid(), 0) or status.st_mode & stat.S_IWOTH:
        raise SeineError(
            f"'{path}' belongs to another user, or everybody may write to it",
            hint=f"if you trust it, say so: --config {path}",
        )


def _wrong_syntax(path: str, message: str) -> SeineError:
    """TOML's message with its place as every place is written."""
    placed = _PLACE.fullmatch(message)
    if placed is None:
        return SeineError(f"{path}: {message}")
    reason, line, column = placed.groups()
    return SeineError(reason, where=Position(printable(path), int(line), int(column)))


def _check_table(path: str, name: str, value: object) -> None:
    if name not in COMMANDS:
        hint = suggest(name, COMMANDS, "settings are in the tables of commands")
        raise SeineError(f"{path}: there is no table '{name}'", hint=hint)
    if not isinstance(value, dict):
        raise SeineError(f"{path}: '{name}' must be a table", hint=f"write [{name}], then a line a setting")


_PATHS = ("FILE", "DIR", "FOLDER")  # a relative one in a file is meant from where that file is
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
_SECRETS = ("token", "password", "passphrase", "secret")
_ELSEWHERE = "secrets are in files of their own: token-file, options-file; a token may be in SEINE_TOKEN"


def add_config(parser: argparse.ArgumentParser) -> None:
    """Add the option `--config`."""
    parser.add_argument(
        "--config", metavar="FILE", help="settings in TOML (default: seine.toml here, else $SEINE_CONFIG)"
    )


@dataclass(frozen=True)
class Setting:
    """An option, or an argument that may be left out, by its names elsewhere than on the command line.

    >>> parser = argparse.ArgumentParser()
    >>> setting = Setting("serve", parser.add_argument("--source-root", action="append"))
    >>> setting.key, setting.variable, setting.repeated
    ('source-root', 'SEINE_SERVE_SOURCE_ROOT', True)
    """

    command: str
    action: argparse.Action

    @property
    def key(self) -> str:
        return self.action.dest.replace("_", "-")

    @property
    def variable(self) -> str:
        return f"{_prefix(self.command)}{self.action.dest.upper()}"

    @property
    def repeated(self) -> bool:
        return isinstance(self.action, argparse._AppendAction)

    @property
    def flag(self) -> bool:
        return self.action.nargs == 0

    def of_text(self, text: str) -> Any:
        """The value of a variable; those of an option that is repeated are separated by commas."""
        if self.flag:
            if text.lower() not in (*_TRUE, *_FALSE):
                raise _WrongValue("must be true or false")
            return text.lower() in _TRUE
        if self.repeated:
            return [self._converted(part.strip()) for part in text.split(",") if part.strip()]
        return self._converted(text)

    def of_toml(self, value: object, folder: str) -> Any:
        """The value of a line of a file that is in a folder."""
        if self.flag:
            if not isinstance(value, bool):
                raise _WrongValue("must be true or false")
            return value
        if self.repeated:
            if not isinstance(value, list):
                raise _WrongValue('must be a list, such as ["a", "b"]')
            return [self._of_scalar(one, folder) for one in value]
        return self._of_scalar(value, folder)

    def _of_scalar(self, value: object, folder: str) -> Any:
        typed = self.action.type is not None
        if isinstance(value, int | float) and not isinstance(value, bool) and typed:
            return self._converted(str(value))
        if not isinstance(value, str):
            raise _WrongValue("must be a number or a text" if typed else "must be a text, in quotes")
        if self.action.metavar in _PATHS and value:
            return self._converted(os.path.join(folder, value))
        converted = self._converted(value)
        if isinstance(converted, int) and value.strip().isdigit():
            raise _WrongValue("must be a number, without quotes")
        return converted

    def _converted(self, text: str) -> Any:
        """A text as the command line would take it."""
        if not text or not text.isprintable():
            raise _WrongValue("must be neither empty nor have control characters")
        convert: Any = self.action.type or str
        try:
            value = convert(text)
        except argparse.ArgumentTypeError as error:
            raise _WrongValue(str(error)) from None
        except ValueError:
            raise _WrongValue("must be a whole number") from None
        if self.action.choices is not None and value not in self.action.choices:
            raise _WrongValue(f"must be one of {', '.join(map(str, self.action.choices))}")
        return value


class _WrongValue(Exception):
    """What is wrong with the value of a setting; the value itself may be a secret in the wrong place."""


def settings_of(command: str, parser: argparse.ArgumentParser) -> list[Setting]:
    """Everything of a command that need not be typed."""
    return [
        Setting(command, action)
        for action in parser._actions
        if action.dest not in ("help", "config") and (action.option_strings or action.nargs == "?")
    ]


def parse_with_settings(parser: argparse.ArgumentParser, words: list[str]) -> argparse.Namespace:
    """The words of a command line, and for what they do not say the environment and the file.

    The file that was read is `config` of what it returns.
    """
    command = words[0] if words else ""
    if command not in COMMANDS:
        return parser.parse_args(words)
    settings = settings_of(command, command_parser(parser, command))
    defaults = {setting.action.dest: setting.action.default for setting in settings}
    for setting in settings:
        setting.action.default = argparse.SUPPRESS  # so that what is not typed is not there
    arguments = parser.parse_args(words)
    file = find_config(arguments.config)
    values = {**defaults, **_of_file(command, settings, file), **_of_environment(command, settings)}
    arguments.config = file.path if file else None
    for name, value in values.items():
        if not hasattr(arguments, name):
            setattr(arguments, name, value)
    return arguments


def command_parser(parser: argparse.ArgumentParser, command: str) -> argparse.ArgumentParser:
    """The parser of one of its commands."""
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    chosen: argparse.ArgumentParser = groups[0].choices[command]
    return chosen


def names_udf(words: list[str]) -> bool:
    """Whether a command is given functions of its user; asked before its parser is imported."""
    command = words[0]
    if any(word.startswith("--u") for word in words):
        return True
    if command not in COMMANDS:
        return False
    parser = argparse.ArgumentParser(add_help=False)
    add_config(parser)
    file = find_config(parser.parse_known_args(words)[0].config)
    return f"{_prefix(command)}UDF" in os.environ or (file is not None and "udf" in file.table(command))


def _of_file(command: str, settings: Iterable[Setting], file: ConfigFile | None) -> dict[str, Any]:
    """What a file says, by the names of arguments."""
    if file is None:
        return {}
    known = {setting.key: setting for setting in settings}
    folder = os.path.dirname(file.path)
    values = {}
    for key, value in file.table(command).items():
        place = f"{file.path}: [{command}]"
        setting = _known(key, known, place, _is_secret(key))
        with _placed(f"{place} {key}"):
            values[setting.action.dest] = setting.of_toml(value, folder)
    return values


def _of_environment(command: str, settings: Iterable[Setting]) -> dict[str, Any]:
    """What the environment says; a variable that is empty says nothing."""
    known = {setting.variable: setting for setting in settings}
    values = {}
    for name, text in sorted(os.environ.items()):
        if name.startswith(_prefix(command)) and text:
            secret = _is_secret(name.removeprefix(_prefix(command)).lower())
            setting = _known(name, known, "environment:", secret)
            with _placed(name):
                values[setting.action.dest] = setting.of_text(text)
    return values


def _known(name: str, known: Mapping[str, Setting], place: str, secret: bool) -> Setting:
    if name in known:
        return known[name]
    hint = _ELSEWHERE if secret else suggest(name, known, "settings")
    raise SeineError(f"{place} there is no setting '{name}'", hint=hint)


@contextmanager
def _placed(place: str) -> Iterator[None]:
    try:
        yield
    except _WrongValue as error:
        raise SeineError(f"{place} {error}") from None


def _is_secret(key: str) -> bool:
    return any(word in key for word in _SECRETS)


def _prefix(command: str) -> str:
    return f"SEINE_{command.upper()}_"
