"""Retractable accumulators: COUNT, SUM, MIN, MAX, variances and user-defined aggregates."""
