"""`seine register`: carry out a script in a running service."""

from __future__ import annotations

import argparse
import os

from seine.cli.service_client import add_asking, client_of, count, related_lines, say_outcome
from seine.frontends.script.parser import read_text

_ABOUT = "Carry out a script in a running service: all of it, or nothing if anything in it is refused."


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("register", help="add a script to a running service", description=_ABOUT)
    parser.add_argument("script", metavar="SCRIPT")
    parser.add_argument(
        "--replace", action="store_true", help="let queries take the place of those of their name"
    )
    add_asking(parser)
    parser.set_defaults(command=command)


def command(arguments: argparse.Namespace) -> int:
    text = read_text(arguments.script)
    folder = os.path.dirname(os.path.abspath(arguments.script))
    outcome = client_of(arguments).register(
        text, file=arguments.script, folder=folder, replace=arguments.replace
    )
    registered, dropped = outcome["registered"], outcome["dropped"]
    done = f"registered {count(registered)}" if registered else "done"
    if dropped:
        done += f", dropped {count(dropped)}"
    say_outcome(outcome, done)
    if outcome["related"] is None:
        print("related queries: skipped, for these are many (seine list --related QUERY)")
    for line in related_lines(outcome["related"] or {}):
        print(line)
    return 0
