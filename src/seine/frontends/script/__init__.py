"""The script language: CREATE and DROP statements to definitions and queries."""
