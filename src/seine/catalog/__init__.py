"""The metadata catalog: declarations, registered queries and network versions, on SQLite or PostgreSQL.

`storage/` has the tables and the connections, `index/` the computation index over the conditions of queries;
`Catalog` opens a database, `CatalogView` reads it and `CatalogChange` writes it, each within one transaction.
"""

from seine.catalog.catalog import Catalog
from seine.catalog.catalog_change import CatalogChange
from seine.catalog.catalog_view import CatalogView
from seine.catalog.storage.network_rows import StoredNode
from seine.catalog.storage.stored_query import QueryPosition, StoredQuery
from seine.catalog.storage.stored_sink import StoredSink

__all__ = [
    "Catalog",
    "CatalogChange",
    "CatalogView",
    "QueryPosition",
    "StoredNode",
    "StoredQuery",
    "StoredSink",
]
