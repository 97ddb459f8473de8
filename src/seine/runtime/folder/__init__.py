"""The folder of a pipeline: settings, network versions, relations, state on its way."""
