"""Front ends: parsers from text (scripts, SQL, keyword search, XSCL) to the algebra."""
