"""Ingestion: sources of JSON Lines, CSV, Parquet and database tables become entries of a durable journal.

A line is read (`line_reader.py`, `parquet.py`), parsed strictly (`jsonl.py`, `csv.py`), admitted or made a
dead letter (`admission.py`), and written to the journal (`intake.py`, `journal.py`). Relations are loaded
whole (`relations.py`).
"""
