"""`seine token`: who may ask a service, by name and role."""

from __future__ import annotations

import argparse
import getpass
import os

from seine.cli.service_client import FOLDER
from seine.errors import SeineError
from seine.service.access.audit_log import AuditLog
from seine.service.access.principal import ROLES, Principal
from seine.service.access.token_file import TokenFile, role_of
from seine.service.folder import ServiceFolder

_ABOUT = """\
Add, list or remove the tokens of a service. What is kept of a token is its SHA-256; the token itself is
printed once. A service that runs needs no restart.
"""
_EXAMPLE = """\
example:
    seine token add ann --role write --service state/ > ann.token
    seine list --service state/ --token-file ann.token
    seine token remove ann --service state/
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "token",
        help="who may ask a service, by name and role",
        description=_ABOUT,
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "action", metavar="ACTION", choices=["add", "list", "remove"], help="add, list or remove"
    )
    parser.add_argument("name", metavar="NAME", nargs="?", help="whose token")
    parser.add_argument(
        "--role", metavar="ROLE", default="write", help=f"of a new token: {', '.join(ROLES)} (default: write)"
    )
    parser.add_argument(
        "--service",
        metavar="FOLDER",
        default=os.environ.get("SEINE_SERVICE") or FOLDER,
        help=f"folder of the service (default: $SEINE_SERVICE or {FOLDER})",
    )
    parser.add_argument(
        "--tokens", metavar="FILE", help="where tokens are kept, if not in tokens.json of the folder"
    )
    parser.set_defaults(command=command)


def command(arguments: argparse.Namespace) -> int:
    if "://" in arguments.service:
        raise SeineError("tokens are kept in the folder of a service", hint="name it with --service FOLDER")
    folder = ServiceFolder(arguments.service)
    tokens = TokenFile(arguments.tokens or folder.tokens)
    if arguments.action == "list":
        for one in tokens.tokens():
            print(f"{one.name}\t{one.role}\t{one.added}")
        return 0
    if arguments.name is None:
        raise SeineError("whose token?", hint=f"seine token {arguments.action} NAME")
    if arguments.action == "add":
        role = role_of(arguments.role)
        print(tokens.add(arguments.name, role), flush=True)
    else:
        role = tokens.remove(arguments.name)
        print(f"removed the token of {arguments.name}")
    _note(folder, f"token {arguments.action}", f"{arguments.name} ({role})")
    return 0


def _note(folder: ServiceFolder, action: str, token: str) -> None:
    """Note it in the audit log of the service, if its folder is there."""
    if os.path.isdir(folder.path):
        AuditLog(folder.audit).note(Principal(getpass.getuser(), "admin"), action, "done", token=token)
