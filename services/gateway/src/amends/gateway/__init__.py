"""The gateway: webhooks and the HTTP API. It reports what others saw; it reads the log and writes nothing."""
