"""Machinery of benchmarks: clocks, processes, saved figures, tables and charts."""
