"""`seine check`: parse, plan and judge a script without running it."""

from __future__ import annotations

import argparse
import json
import sys

from seine.engine import read_script
from seine.errors import ScriptError, printable
from seine.network.network import build_network
from seine.safety.verdict import Verdict, verdict

_ABOUT = "Parse, plan and safety-check a script: one verdict a query; exit 1 if any is refused."


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "check", help="is a script right, and its state bounded?", description=_ABOUT
    )
    parser.add_argument("script", metavar="SCRIPT")
    parser.add_argument("--json", action="store_true", help="verdicts as JSON")
    parser.set_defaults(command=command)


def command(arguments: argparse.Namespace) -> int:
    script = read_script(arguments.script)
    judged = [(verdict(query), position) for query, position in script.queries]
    build_network(query for query, _ in script.queries)
    if arguments.json:
        print(json.dumps({"queries": [found.to_json() for found, _ in judged]}))
    else:
        for found, _ in judged:
            print(_line(found))
    refused = [(found, position) for found, position in judged if not found.accepted]
    for found, position in refused:
        print(ScriptError(found.reason, hint=found.hint, where=position).render(), file=sys.stderr)
    return 1 if refused else 0


def _line(judged: Verdict) -> str:
    word = "safe   " if judged.safe else "by wish" if judged.accepted else "REFUSED"
    return printable(f"{word}  {judged.query}: {judged.reason}")
