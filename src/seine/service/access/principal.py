"""Whoever asks a service for something: a name and a role.

Law: a role may do what the roles before it may: *read* sees everything, *write* also registers queries and
changes its own, and sends records; *admin* also declares streams, relations, views, joins and sinks, and
changes the queries of others.

What an edit needs of whoever asks for it.

Law: who is no admin changes queries alone, and of these only its own and new ones. What is refused here is
refused before a file is opened or a database asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from seine.errors import SeineError
from seine.lifecycle.edit import Edit
from seine.lifecycle.view import View

Role = Literal["read", "write", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)


class ForbiddenError(SeineError):
    """Somebody asks for what others may do."""


@dataclass(frozen=True)
class Principal:
    """A name and a role.

    >>> Principal("ann", "write").may("read"), Principal("ann", "write").may("admin")
    (True, False)
    """

    name: str
    role: Role

    def may(self, role: Role) -> bool:
        """Whether this role includes another one."""
        return ROLES.index(self.role) >= ROLES.index(role)

    def refuse(self, edit: Edit, view: View) -> None:
        """Refuse an edit that this one may not make."""
        refuse_forbidden(edit, view, self)


ONE_TOKEN = Principal("admin", "admin")  # whoever has the one token of --token-file or SEINE_TOKEN
LOCAL = Principal("local", "admin")  # where no token is needed: a user of this machine
RESERVED = frozenset({ONE_TOKEN.name, LOCAL.name, "service"})


def refuse_forbidden(edit: Edit, view: View, who: Principal) -> None:
    """Refuse an edit that its author may not make."""
    if who.may("admin"):
        return
    if not who.may("write"):
        raise ForbiddenError(f"{who.name} may read and change nothing", hint="that needs the role write")
    shared = next(edit.changed_declarations(view), None)
    if shared is not None:
        hint = "streams, relations, views, joins and sinks are declared and dropped by an admin"
        raise ForbiddenError(f"{who.name} may not change {shared}", hint=hint)
    for key in sorted(edit.go | edit.pause | edit.resume):
        registered = view.registered[key]
        if registered.owner != who.name:
            owner = registered.owner or "nobody with a name"
            hint = "that is for its owner or an admin"
            raise ForbiddenError(
                f"query {registered.query.name} belongs to {owner}, not to {who.name}", hint=hint
            )
