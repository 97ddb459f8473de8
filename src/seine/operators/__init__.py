"""What nodes do: vectorised operators over Arrow and NumPy, by family; no Spark."""
