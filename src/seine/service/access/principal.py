"""Whoever asks a service for something: a name and a role.

Law: a role may do what the roles before it may: *read* sees everything, *write* also registers queries and
changes its own, and sends records; *admin* also declares streams, relations, views, joins and sinks, and
changes the queries of others.

What an edit needs of whoever asks for it.

Law: who is no admin changes queries alone, and of these only its own and new ones. What is refused here is
refused before a file is opened or a database asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from seine.errors import SeineError
from seine.frontends.script.script import Declarations
from seine.service.edit import Edit
from seine.service.published_view import ServiceView

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


ONE_TOKEN = Principal("admin", "admin")  # whoever has the one token of --token-file or SEINE_TOKEN
LOCAL = Principal("local", "admin")  # where no token is needed: a user of this machine
RESERVED = frozenset({ONE_TOKEN.name, LOCAL.name, "service"})


def refuse_forbidden(edit: Edit, view: ServiceView, who: Principal) -> None:
    """Refuse an edit that its author may not make."""
    if who.may("admin"):
        return
    if not who.may("write"):
        raise ForbiddenError(f"{who.name} may read and change nothing", hint="that needs the role write")
    shared = next(_changed(view.declared, edit.declared), None)
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


def changed_declarations(view: ServiceView, edit: Edit) -> list[str]:
    """The streams, relations, views, joins and sinks that an edit makes or ends, in words."""
    return [*_changed(view.declared, edit.declared)]


def _changed(before: Declarations, after: Declarations) -> Iterator[str]:
    for word, old, new in (
        ("stream", before.streams, after.streams),
        ("relation", before.relations, after.relations),
        ("view", before.views, after.views),
        ("sink", before.sinks, after.sinks),
    ):
        for name in dict.fromkeys([*old, *new]):
            if old.get(name) is not new.get(name):
                yield f"{word} {name}"
    for edge in {*before.edges} ^ {*after.edges}:
        yield f"join {edge.left}, {edge.right}"
