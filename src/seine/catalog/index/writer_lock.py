"""Writers of the index take turns: of two at once, one is refused and may try again."""

from __future__ import annotations

from sqlalchemy import Connection, update

from seine.catalog.storage.catalog_tables import setting

# Two that leave at once could each keep, for the other's sake, what neither needs. Writing one and the
# same row makes them notice: the database refuses a row that changed after the transaction began.
_CLAIM = update(setting).where(setting.c.name == "schema").values(value=setting.c.value)


def claim(connection: Connection) -> None:
    connection.execute(_CLAIM)
