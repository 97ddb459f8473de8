"""Generated input of benchmarks: streams as files, and the queries over them."""
