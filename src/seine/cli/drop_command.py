"""`seine drop`, `seine pause`, `seine resume`: end a query of a service, or let it rest.

A query can also be dropped while the service is stopped.
"""

from __future__ import annotations

import argparse

from seine.cli.service_client import add_asking, client_of, say_outcome, stopped_folder

_COMMANDS = {
    "drop": ("drop a query", "Drop a query, also of a stopped service; state that only it needed is freed."),
    "pause": ("pause a query", "Pause a query: it delivers nothing and keeps no state."),
    "resume": (
        "resume a query",
        "Let a query that is paused or failed begin anew: it counts what arrives from now on.",
    ),
}
_DONE = {"drop": "dropped", "pause": "paused", "resume": "resumed"}


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    for name, (text, about) in _COMMANDS.items():
        parser = commands.add_parser(name, help=text, description=about)
        parser.add_argument("query", metavar="QUERY")
        add_asking(parser)
        parser.set_defaults(command=command, action=name)


def command(arguments: argparse.Namespace) -> int:
    if arguments.action == "drop":
        with stopped_folder(arguments) as folder:
            if folder is not None:
                say_outcome(dict(folder.drop(arguments.query)), f"dropped query {arguments.query}")
                return 0
    client = client_of(arguments)
    ask = {"drop": client.drop, "pause": client.pause, "resume": client.resume}[arguments.action]
    say_outcome(ask(arguments.query), f"{_DONE[arguments.action]} query {arguments.query}")
    return 0
