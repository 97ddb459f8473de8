"""What operators keep between steps: a small head, sorted runs, keyed tables, queues of events."""
