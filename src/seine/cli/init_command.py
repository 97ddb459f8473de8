"""`seine init`: an example project to begin with."""

from __future__ import annotations

import argparse
from importlib.resources import files
from pathlib import Path

from seine.errors import SeineError

_ABOUT = "Write an example project: a script with two queries, its input, tests, settings, what to type."
# file of the package -> its name in the project
_FILES = {
    "alerts.sql": "alerts.sql",
    "transfer.jsonl": "transfer.jsonl",
    "test_alerts.txt": "test_alerts.py",
    "seine.toml": "seine.toml",
    "README.md": "README.md",
}


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


def write_example_project(folder: Path) -> list[Path]:
    """Write all its files into a folder, which is made if need be; none that is there is written over."""
    paths = {folder / name: files("seine.demo.project").joinpath(source) for source, name in _FILES.items()}
    for path in paths:
        if path.exists():
            raise SeineError(f"'{path}' is there already", hint="name a new folder, or one without it")
    folder.mkdir(parents=True, exist_ok=True)
    for path, source in paths.items():
        path.write_bytes(source.read_bytes())
    return list(paths)
