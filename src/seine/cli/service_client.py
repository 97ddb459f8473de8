"""What the commands that ask a running service have in common."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from seine.errors import printable
from seine.service.client import Client, read_token
from seine.service.folder import is_stopped

if TYPE_CHECKING:
    from seine.service.stopped_folder import StoppedFolder

FOLDER = "seine-service"


def add_asking(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which service is asked, and with which token."""
    parser.add_argument(
        "--service",
        metavar="WHERE",
        help=f"folder or address of the service (default: $SEINE_SERVICE or {FOLDER})",
    )
    parser.add_argument("--token-file", metavar="FILE", help="holds the service's token (or: $SEINE_TOKEN)")


def client_of(arguments: argparse.Namespace) -> Client:
    """A client of the service that the options name, else the environment, else the default folder."""
    return Client(_where(arguments), read_token(arguments.token_file))


def _where(arguments: argparse.Namespace) -> str:
    return str(arguments.service or os.environ.get("SEINE_SERVICE") or FOLDER)


@contextmanager
def stopped_folder(arguments: argparse.Namespace) -> Iterator[StoppedFolder | None]:
    """The folder of a service that is stopped; None if the options name one that runs, or none."""
    where = _where(arguments)
    if not is_stopped(where):
        yield None
        return
    from seine.service.stopped_folder import StoppedFolder  # it takes its time to import

    with closing(StoppedFolder(where)) as folder:
        yield folder


def say_outcome(outcome: dict[str, Any], done: str) -> None:
    """One line: what was done, and from when on."""
    print(f"{done}; from entry {outcome['entry']} on (network version {outcome['version']})")


def related_lines(related: Mapping[str, list[dict[str, Any]]]) -> list[str]:
    """A line for each part of a query that has something in common with others.

    >>> related_lines({"q": [{"text": "s: equal to p"}], "r": []})
    ['q: s: equal to p']
    """
    return [
        f"{printable(name)}: {printable(one['text'])}" for name, matches in related.items() for one in matches
    ]


def count(names: list[str]) -> str:
    """Queries as a message names them: one by its name, several by their number.

    >>> count(["a"]), count(["a", "b"])
    ('query a', '2 queries')
    """
    return f"query {names[0]}" if len(names) == 1 else f"{len(names):,} queries"
