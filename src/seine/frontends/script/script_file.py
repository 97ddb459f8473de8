"""Scripts in files: their text, and what they declare."""

from __future__ import annotations

import os

from seine.errors import SeineError
from seine.frontends.script.parser import parse_script
from seine.frontends.script.script import Declarations, Script


def read_script(path: str, known: Declarations | None = None) -> Script:
    """Parse a script file; relative paths in it are resolved against its folder."""
    return parse_script(
        read_text(path), file=path, folder=os.path.dirname(os.path.abspath(path)), known=known
    )


def read_text(path: str) -> str:
    """The text of a script file."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SeineError(f"cannot read script '{path}': {reason}") from error
