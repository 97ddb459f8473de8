"""Write conflicts of the computation index: of two concurrent writers one is refused and may try again."""

from __future__ import annotations

from sqlalchemy import Connection, update

from seine.catalog.storage.catalog_tables import setting

# Two transactions that delete at once could each keep, for the other's sake, a row that neither needs.
# Writing one and the same row makes them conflict: the database refuses a row that changed after the
# transaction began.
_TOUCH_SCHEMA_ROW = update(setting).where(setting.c.name == "schema").values(value=setting.c.value)


def lock_writers(connection: Connection) -> None:
    """Make this transaction conflict with every other one that writes the index."""
    connection.execute(_TOUCH_SCHEMA_ROW)
