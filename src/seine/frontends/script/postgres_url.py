"""The address of a PostgreSQL database in a script: without a password."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

from seine.frontends.text.cursor import Cursor
from seine.frontends.text.lexer import Token

_DRIVERS = ("postgresql", "postgresql+psycopg")
_PARAMETERS = {
    *("host", "port", "user", "dbname", "sslmode", "sslrootcert", "sslcert", "sslkey"),
    *("connect_timeout", "application_name", "target_session_attrs", "options"),
}
_HIDE = "WITH (password = '${NAME}'), and give NAME in the file of --options-file or in the environment"


def check_postgres_url(cursor: Cursor, place: Token) -> None:
    """Refuse what is no address, and one with a password; nothing of it is repeated."""
    try:
        parts = urlsplit(place.value)
        given = {key for key, _ in parse_qsl(parts.query, keep_blank_values=True)}
        user = parts.netloc.rpartition("@")[0]
    except ValueError:
        raise cursor.error("this is no address of a database", _EXAMPLE, at=place) from None
    if ":" in user or "password" in given:
        raise cursor.error("the URL has a password", _HIDE, at=place)
    if parts.scheme.lower() not in _DRIVERS or not (parts.netloc or given) or parts.fragment:
        raise cursor.error("this is no address of a database", _EXAMPLE, at=place)
    if unknown := given - _PARAMETERS:
        hint = f"parameters: {', '.join(sorted(_PARAMETERS))}"
        raise cursor.error(f"the URL has a parameter {min(unknown)}", hint, at=place)


_EXAMPLE = "write 'postgresql+psycopg://user@host:5432/database'"
