"""The interface between nodes and the tasks that run them: stateful and stateless nodes, their output."""
