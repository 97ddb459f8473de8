"""The catalog's storage layer: database connections, table definitions, and rows in and out of them."""
