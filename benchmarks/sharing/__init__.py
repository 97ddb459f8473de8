"""Benchmarks of sharing: very many standing queries over money transfers, as in ARGUS."""
