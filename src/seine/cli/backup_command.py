"""`seine backup`, `seine restore`: a copy of a service's folder, taken while it runs, and the way back."""

from __future__ import annotations

import argparse
import os
import shutil

from seine.cli.service_client import FOLDER
from seine.errors import SeineError
from seine.service.backup.backup_copy import (
    Manifest,
    refuse_filled,
    restore_backup,
    verify_backup,
    write_backup,
)
from seine.service.backup.folder_snapshot import take_snapshot
from seine.service.client import Client, read_token
from seine.service.folder import ServiceFolder, is_stopped

_BACKUP = """\
Copy a service's folder, whether it runs or not: catalog, journal, state and results as of one micro-batch,
each file with its digest. The service goes on meanwhile.
"""
_RESTORE = """\
Bring a backup into a new folder, from which a service goes on. Every file is checked by its digest first.
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    backup = commands.add_parser("backup", help="copy a service's folder while it runs", description=_BACKUP)
    backup.add_argument("folder", metavar="FOLDER", help="the service's folder, on this machine")
    backup.add_argument("target", metavar="TARGET", help="a new folder, or an empty one")
    backup.add_argument("--token-file", metavar="FILE", help="a token of an admin (or: $SEINE_TOKEN)")
    backup.set_defaults(command=back_up)
    restore = commands.add_parser("restore", help="bring a backup into a folder", description=_RESTORE)
    restore.add_argument("backup", metavar="BACKUP")
    restore.add_argument(
        "folder", metavar="FOLDER", nargs="?", default=FOLDER, help="a new folder, or an empty one"
    )
    restore.add_argument(
        "--verify", action="store_true", help="check the digests of the backup, and restore nothing"
    )
    restore.set_defaults(command=restored)


def back_up(arguments: argparse.Namespace) -> int:
    if "://" in arguments.folder:
        raise SeineError("a backup is of a folder on this machine", hint="name the service's folder")
    folder = ServiceFolder(arguments.folder)
    if not os.path.exists(folder.catalog):
        raise SeineError(f"no service lives in '{folder.path}'", hint="name the folder of seine serve")
    refuse_filled(arguments.target, "backup")
    if folder.holds(arguments.target):
        raise SeineError(f"'{arguments.target}' lies in the service's folder", hint="name a folder elsewhere")
    if is_stopped(folder.path):
        lock = folder.lock()
        try:
            return _copy(folder, take_snapshot(folder), arguments.target)
        finally:
            lock.release()
    answer = Client(folder.path, read_token(arguments.token_file)).snapshot()
    return _copy(folder, answer["folder"], arguments.target)


def _copy(folder: ServiceFolder, snapshot: str, target: str) -> int:
    try:
        _say(write_backup(snapshot, folder.path, target), f"backed up to '{target}'")
    finally:
        shutil.rmtree(snapshot, ignore_errors=True)
    return 0


def restored(arguments: argparse.Namespace) -> int:
    if arguments.verify:
        _say(verify_backup(arguments.backup), "every file is as it was")
    else:
        _say(restore_backup(arguments.backup, arguments.folder), f"restored to '{arguments.folder}'")
    return 0


def _say(manifest: Manifest, done: str) -> None:
    size = sum(kept.size for kept in manifest.files.values())
    print(f"{done}: {len(manifest.files):,} files, {size:,} bytes, of '{manifest.folder}' at {manifest.made}")
