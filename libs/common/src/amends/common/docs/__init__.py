"""docs/events.md, generated from the code: every fact, its key, who reports it, and what follows when it goes wrong."""
