"""`seine check`: parse, plan and judge a script without running it."""

from __future__ import annotations

import argparse
import json
import sys

from seine.engine import read_script
from seine.network.network import build_network
from seine.safety.verdict import Verdict, verdict

_ABOUT = "Parse, plan and safety-check a script: one verdict a query; exit 1 if any is refused."


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("check", help="is a script right, and its state bounded?", description=_ABOUT)
    parser.add_argument("script", metavar="SCRIPT")
    parser.add_argument("--json", action="store_true", help="verdicts as JSON")
    parser.set_defaults(command=command)


def command(arguments: argparse.Namespace) -> int:
    script = read_script(arguments.script)
    queries = list(script.declarations.queries.values())
    build_network(queries)
    verdicts = [verdict(query) for query in queries]
    if arguments.json:
        print(json.dumps({"queries": [v.to_json() for v in verdicts]}))
    else:
        for judged in verdicts:
            print(_line(judged))
    refused = [v for v in verdicts if not v.accepted]
    for judged in refused:
        where = script.positions.get(judged.query.lower())
        print(f"{where}: {judged.reason}\n  hint: {judged.hint}", file=sys.stderr)
    return 1 if refused else 0


def _line(judged: Verdict) -> str:
    word = "safe   " if judged.safe else "by wish" if judged.accepted else "REFUSED"
    return f"{word}  {judged.query}: {judged.reason}"
