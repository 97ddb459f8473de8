"""The front end of SEARCH: keyword queries over joined streams."""
