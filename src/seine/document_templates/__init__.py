"""Query templates (MMQJP): XSCL queries that differ in variables alone, evaluated as one."""
