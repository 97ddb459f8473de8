"""Load shedding: which tuples a window keeps when memory cannot hold it, and the offline optimum."""
