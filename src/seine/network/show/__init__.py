"""The network shown to people: explain, a query's story, the picture."""
