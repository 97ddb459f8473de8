"""The script language: statements to declarations."""
