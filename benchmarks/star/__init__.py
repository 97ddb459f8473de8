"""Benchmarks of load shedding: the figures of STAR, harder streams, and the cost of a decision."""
