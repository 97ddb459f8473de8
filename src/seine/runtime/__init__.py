"""What tasks do, whoever hosts them, and the folder that a pipeline lives in."""
