"""`seine demo`: the demomarks, each beside an alternative in the same run."""

from __future__ import annotations

import argparse


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("demo", help="measure it", description=__doc__)
    parser.set_defaults(command=command)


def command(arguments: argparse.Namespace) -> int:
    return 0
