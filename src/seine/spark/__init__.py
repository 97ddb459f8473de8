"""The pipeline hosted by Spark, and the Python API for programs that have a session."""
