"""One rule a file: a pure function from plan to plan that never changes an answer."""
