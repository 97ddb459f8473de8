"""The shared network: its nodes and tables, adding and removing queries, versions, and showing it."""
