"""The options of `seine serve` that say what it may read and write."""

from __future__ import annotations

import argparse
import os

from seine.errors import SeineError
from seine.service.access.allow_list import AllowList

_OPTIONS = {
    "--source-root": ("DIR", "a folder whose files FROM may read; may be repeated (default: FOLDER/input)"),
    "--source-host": ("HOST", "a server that may be read: HOST, HOST:PORT, *.DOMAIN or *; may be repeated"),
    "--sink-root": ("DIR", "a folder below which sinks may write; may be repeated (default: FOLDER/output)"),
    "--sink-host": ("HOST", "a server that sinks may write to: as with --source-host; may be repeated"),
}


def add_reach(parser: argparse.ArgumentParser) -> None:
    for option, (metavar, text) in _OPTIONS.items():
        parser.add_argument(option, metavar=metavar, action="append", default=[], help=text)


def reach_of(arguments: argparse.Namespace) -> AllowList:
    """What the options name; a source root must be there."""
    for root in arguments.source_root:
        if not os.path.isdir(root):
            raise SeineError(f"--source-root: there is no folder '{root}'")
    return AllowList(
        tuple(arguments.source_root),
        tuple(arguments.source_host),
        tuple(arguments.sink_root),
        tuple(arguments.sink_host),
    )
