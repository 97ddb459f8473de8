"""Whoever asks a service for something: a name and a role.

Law: a role may do what the roles before it may: *read* sees everything, *write* also registers queries and
changes its own, and sends records; *admin* also declares streams, relations, views, joins and sinks, and
changes the queries of others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from seine.errors import SeineError

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
