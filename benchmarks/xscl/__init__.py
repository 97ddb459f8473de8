"""Benchmarks of XML subscriptions: the figures of MMQJP, its engines and ours."""
