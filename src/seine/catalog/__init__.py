"""The catalog: what is declared and what runs, as tables on SQLite or PostgreSQL."""

from seine.catalog.catalog import Catalog
from seine.catalog.catalog_change import CatalogChange
from seine.catalog.catalog_view import CatalogView
from seine.catalog.stored import QueryPosition, StoredNode, StoredQuery

__all__ = ["Catalog", "CatalogChange", "CatalogView", "QueryPosition", "StoredNode", "StoredQuery"]
