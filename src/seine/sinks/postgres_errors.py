"""Errors of PostgreSQL in one line, without the values of rows."""

from __future__ import annotations

import re

import psycopg

_MOST_CHARACTERS = 300
_OF_VALUES = "22"  # the class of errors whose first line may quote a value
_VALUE = re.compile(r'\s*["«»„“”「][\s\S]*$')  # as servers of any language quote it
_COLUMN = re.compile(r"COPY .*?, line \d+, column (.+?)(?::|$)")


def error_line(error: psycopg.Error) -> str:
    """What the server says first; of a value that does not fit, the column and not the value.

    >>> error_line(psycopg.OperationalError("no connection\\nis the server there?"))
    'no connection'
    """
    text = (str(error).strip().splitlines() or [type(error).__name__])[0]
    if not (error.sqlstate or "").startswith(_OF_VALUES):
        return text[:_MOST_CHARACTERS]
    column = _COLUMN.search(error.diag.context or "")
    place = f" in column {column[1]}" if column is not None else ""
    return _VALUE.sub("", text)[:_MOST_CHARACTERS].rstrip(":") + place
