"""Sinks: the records of queries, brought to places outside, each sink at its own pace."""
