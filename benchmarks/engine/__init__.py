"""Benchmarks of the engine: throughput, state and the cost of one more query, stage or tuple held."""
