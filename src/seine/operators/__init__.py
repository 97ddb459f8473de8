"""Physical operators, vectorised over Arrow and NumPy, by family, each beside its kind of node; no Spark."""
