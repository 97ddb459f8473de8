"""The catalog: what is declared and what runs, as tables on SQLite or PostgreSQL."""

from seine.catalog.catalog import Catalog
from seine.catalog.change import Change
from seine.catalog.records import StoredQuery
from seine.catalog.snapshot import Snapshot

__all__ = ["Catalog", "Change", "Snapshot", "StoredQuery"]
