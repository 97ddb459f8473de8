"""The benchmark of sharing: money transfers, a repository of query seeds, ways of sharing compared."""
