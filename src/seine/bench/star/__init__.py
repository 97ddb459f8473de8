"""Benchmarks of shedding: the figures of STAR, other streams, and what a decision costs."""
