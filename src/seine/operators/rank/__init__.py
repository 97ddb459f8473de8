"""Ranks of live rows: the first n of each partition, as rows come and go."""
