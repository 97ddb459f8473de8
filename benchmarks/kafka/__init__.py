"""Benchmark `kafka`: streams from topics, beside the same from files and beside Spark's own join."""
