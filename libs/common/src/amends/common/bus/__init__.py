"""The bus: everything that knows NATS, and the only home of nats-py and FastStream."""
