"""The query of a script that a user names."""

from __future__ import annotations

from seine.algebra.plan import Query
from seine.errors import SeineError
from seine.frontends.script.script import Declarations


def known_query(name: str, declarations: Declarations) -> Query:
    """The query of this name, in any case; refuses a name that no query has."""
    query = declarations.queries.get(name.lower())
    if query is None:
        names = ", ".join(sorted(query.name for query in declarations.queries.values()))
        raise SeineError(f"there is no query '{name}'", hint=f"queries: {names or 'none'}")
    return query
