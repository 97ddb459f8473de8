"""The parent of Spark's Python workers: it imports what they need once, before it forks them."""

from pyspark.daemon import manager

import seine.runtime.tasks
import seine.spark.stage  # noqa: F401

if __name__ == "__main__":
    manager()
