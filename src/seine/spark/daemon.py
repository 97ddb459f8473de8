"""The parent of Spark's Python workers: it imports what they need once, before it forks them."""

import numpy as np
import pyarrow as pa
from pyspark.daemon import manager

import seine.runtime.flow.tasks
import seine.spark.stage
import seine.topics.topic_records  # noqa: F401
from seine.spark.malloc import keep_freed_memory

if __name__ == "__main__":
    keep_freed_memory()
    pa.set_memory_pool(pa.system_memory_pool())  # Arrow's own gives memory back, and so pays for it again
    pa.array(np.zeros(1))  # Arrow looks for pandas when it first meets an array
    manager()
