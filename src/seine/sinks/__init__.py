"""Sinks: the records of queries, brought to places outside of a service, each sink at its own pace."""
