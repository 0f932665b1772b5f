"""`python -m amends.cli`: the command, without its script."""

from __future__ import annotations

from amends.cli.main import main

main()
