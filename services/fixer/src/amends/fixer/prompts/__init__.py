"""The texts that the model is given."""

from pathlib import Path

SYSTEM = Path(__file__).with_name("system.md").read_text(encoding="utf-8")
CONTRACT = Path(__file__).with_name("command.md").read_text(encoding="utf-8")
