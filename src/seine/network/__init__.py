"""The shared network: its nodes, adding and removing queries, and showing it."""
