"""Functions and aggregates of users at work: in a process of their own, with limits of time and memory."""
