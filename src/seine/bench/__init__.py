"""The benchmarks: each measures Seine beside an alternative in the same run."""
