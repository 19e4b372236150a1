"""The HTTP API and its page; the only importer of the web framework."""
