"""Benchmarks of safety: what the check costs, what promises keep out of memory, and what purging costs."""
