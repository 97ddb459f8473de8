"""`seine.toml`: settings of commands in a file, a table for each command."""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Mapping
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
