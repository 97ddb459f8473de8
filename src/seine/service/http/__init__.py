"""The HTTP interface of a service: FastAPI on uvicorn, with limits on who asks, how much and how slowly."""
