"""XSCL: joins of XML documents."""
