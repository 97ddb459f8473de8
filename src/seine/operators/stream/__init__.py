"""The leaves of the network: sources and punctuations; and the resolution of deletions (negative tuples)."""
