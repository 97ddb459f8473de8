"""A refusal as JSON: the message, the place and a hint."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from seine.errors import SeineError


class PlaceAnswer(TypedDict):
    """A place in a script."""

    file: str
    line: int
    column: int


class RefusalReason(TypedDict):
    """Why a request was refused."""

    message: str
    hint: NotRequired[str]
    where: NotRequired[PlaceAnswer]


def refusal_reason(error: SeineError) -> RefusalReason:
    """An error as JSON.

    >>> refusal_reason(SeineError("there is no stream bid", hint="CREATE STREAM first"))
    {'message': 'there is no stream bid', 'hint': 'CREATE STREAM first'}
    """
    reason: RefusalReason = {"message": error.message}
    if error.where is not None:
        reason["where"] = {"file": error.where.file, "line": error.where.line, "column": error.where.column}
    if error.hint is not None:
        reason["hint"] = error.hint
    return reason
