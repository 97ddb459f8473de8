"""Text to algebra, and nothing else."""
