"""Backups of a service's folder: a snapshot while it runs, a copy with digests, and the way back."""
