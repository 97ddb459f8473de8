"""Benchmark `nexmark`: its queries beside Flink and Spark, all in one pipeline, and many variants of them."""
