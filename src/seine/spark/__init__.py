"""Spark as the host of a pipeline, and the Python API for programs that have a session."""
