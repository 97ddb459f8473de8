"""Random scripts with their input files."""
