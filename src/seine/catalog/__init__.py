"""The metadata catalog: declarations, registered queries and network versions, on SQLite.

`tables/` has the schema and what rows stand for, `index/` the computation index over the conditions of
queries. `Catalog` opens a database; `CatalogView` reads it and `CatalogChange` writes it, each within one
transaction.
"""
