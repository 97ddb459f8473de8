"""The life cycle of queries: registered, changed and withdrawn, in a run and in a service alike."""
