"""`seine init`: an example project to begin with."""

from __future__ import annotations

import argparse
from pathlib import Path

from seine.demo.example_project import write_example_project

_ABOUT = "Write an example project: a script with two queries, its input, tests, settings, what to type."


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("init", help="write an example project", description=_ABOUT)
    parser.add_argument("folder", metavar="FOLDER", help="where it goes; nothing in it is written over")
    parser.set_defaults(command=command)


def command(arguments: argparse.Namespace) -> int:
    folder = Path(arguments.folder)
    for path in write_example_project(folder):
        print(path)
    print(f"next: seine try {folder / 'alerts.sql'} --watch")
    return 0
