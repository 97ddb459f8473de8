"""`seine tail`: the records of one query of a running service, as they come."""

from __future__ import annotations

import argparse
import sys

from seine.cli.service_client import add_asking, client_of
from seine.errors import printable

_ABOUT = "Print the records of a query as they come, as JSON Lines; end with Ctrl-C."


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("tail", help="the records of a query, as they come", description=_ABOUT)
    parser.add_argument("query", metavar="QUERY")
    parser.add_argument("--all", action="store_true", help="begin with those since its registration")
    parser.add_argument("--no-follow", action="store_true", help="end with what there is now")
    add_asking(parser)
    parser.set_defaults(command=command)


def command(arguments: argparse.Namespace) -> int:
    start = "start" if arguments.all or arguments.no_follow else "end"
    follow, client = not arguments.no_follow, client_of(arguments)
    try:
        for lines in client.tail(arguments.query, start, follow, _tell):
            sys.stdout.buffer.write(lines)
            sys.stdout.buffer.flush()
    except KeyboardInterrupt:  # the way to end it
        return 0
    return 0


def _tell(text: str) -> None:
    print(f"seine: {printable(text)}", file=sys.stderr)
