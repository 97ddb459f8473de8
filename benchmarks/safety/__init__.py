"""Benchmarks of safety: the cost of the check, the state that punctuations free, the cost of purging."""
