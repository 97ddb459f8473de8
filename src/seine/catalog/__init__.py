"""The metadata catalog: declarations, registered queries and network versions, on SQLite.

`tables/` has the schema and what rows stand for, `index/` the computation index over the conditions of
queries. `Catalog` opens a database; `CatalogView` reads it and `CatalogChange` writes it, each within one
transaction.
"""

from seine.catalog.catalog import Catalog
from seine.catalog.catalog_change import CatalogChange
from seine.catalog.catalog_view import CatalogView
from seine.catalog.tables.stored import QueryPosition, StoredNode, StoredQuery, StoredSink

__all__ = [
    "Catalog",
    "CatalogChange",
    "CatalogView",
    "QueryPosition",
    "StoredNode",
    "StoredQuery",
    "StoredSink",
]
