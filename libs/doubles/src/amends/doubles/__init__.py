"""Stateful stand-ins for what amends talks to: for tests and for the demo."""
