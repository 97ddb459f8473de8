"""The execution engine, apart from Spark: tasks, the driver, results, and the folder of a pipeline."""
