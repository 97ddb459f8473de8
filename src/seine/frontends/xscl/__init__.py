"""The front end of XSCL: joins of XML documents by tree patterns."""
