"""The REST API, route by route."""
