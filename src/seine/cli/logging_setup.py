"""The one place that configures logging: which messages of the `seine` loggers are written, and how.

Every module logs to `logging.getLogger(__name__)`. Without `--log-level` nothing is written, so that what
a command prints is what it always printed; with it, messages go to standard error, a line each.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from seine.errors import printable

LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("text", "json")
_DEFAULT_LEVEL = "info"  # of a command that is given a format alone
_ELSEWHERE = logging.NullHandler()  # other libraries log too, when Spark dies: the commands say what happened
_STANDARD_FIELDS = {*vars(logging.makeLogRecord({})), "message", "asctime"}


def add_logging(parser: argparse.ArgumentParser) -> None:
    """Add the options `--log-level` and `--log-format` to a command."""
    parser.add_argument(
        "--log-level",
        metavar="LEVEL",
        choices=LEVELS,
        help=f"log to standard error from this level on: {', '.join(LEVELS)} (default: no log)",
    )
    parser.add_argument(
        "--log-format",
        metavar="FORMAT",
        choices=FORMATS,
        help=f"how a message is logged: {', '.join(FORMATS)} (default: text)",
    )


@contextmanager
def configured_logging(arguments: argparse.Namespace) -> Iterator[None]:
    """Log as the options of a command say, while it runs; a command without these options does not log."""
    logging.root.addHandler(_ELSEWHERE)
    level, form = (getattr(arguments, name, None) for name in ("log_level", "log_format"))
    if level is None and form is None:
        yield
        return
    logger = logging.getLogger("seine")
    handler = _TerminalHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    level_before = logger.level
    logger.setLevel((level or _DEFAULT_LEVEL).upper())
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level_before)


class TextFormatter(logging.Formatter):
    r"""One line of text: time, level, logger, message, then the extra fields.

    Control characters are escaped, so that a message stays one line.

    >>> record = logging.makeLogRecord({"name": "seine.run", "levelname": "INFO", "created": 0})
    >>> record.msg, record.version = "a\nb", 3
    >>> TextFormatter().format(record)
    '1970-01-01T00:00:00.000Z info seine.run: a\\x0ab version=3'
    """

    def format(self, record: logging.LogRecord) -> str:
        words = [f"{_time(record)} {record.levelname.lower()} {record.name}: {record.getMessage()}"]
        words += [f"{name}={value}" for name, value in _extra_fields(record).items()]
        return printable(" ".join(words))


class JsonFormatter(logging.Formatter):
    """One JSON object: `time`, `level`, `logger`, `message`, and a property for each extra field.

    >>> record = logging.makeLogRecord({"name": "seine", "levelname": "INFO", "created": 0})
    >>> record.msg, record.version = "go", 3
    >>> JsonFormatter().format(record)
    '{"time": "1970-01-01T00:00:00.000Z", "level": "info", "logger": "seine", "message": "go", "version": 3}'
    """

    def format(self, record: logging.LogRecord) -> str:
        form = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        form = {**form, **_extra_fields(record), **form}  # an extra field never hides one of these
        try:
            return json.dumps(form, default=str, allow_nan=False)
        except (ValueError, TypeError):  # NaN and infinity are no JSON, nor are some keys
            return json.dumps({name: str(value) for name, value in form.items()})


class _TerminalHandler(logging.StreamHandler[Any]):
    """Writes to a terminal over the live line of progress, which comes back after the next micro-batch."""

    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record)
        return f"\r\033[K{line}" if self.stream.isatty() else line


def _time(record: logging.LogRecord) -> str:
    """When it was logged, in UTC, with milliseconds."""
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _extra_fields(record: logging.LogRecord) -> dict[str, Any]:
    """What the caller gave as `extra`, and the exception if there is one."""
    fields = {name: value for name, value in vars(record).items() if name not in _STANDARD_FIELDS}
    if record.exc_info and record.exc_info[1] is not None:
        error = record.exc_info[1]
        fields["exception"] = f"{type(error).__name__}: {error}"
    return fields
