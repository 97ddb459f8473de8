"""The HTTP interface of a service: FastAPI on uvicorn, with limits on who may ask, how much and how slowly."""
