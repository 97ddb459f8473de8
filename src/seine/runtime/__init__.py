"""What tasks do, in whichever host, and the folder that a pipeline lives in."""
