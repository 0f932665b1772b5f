"""How the log's tables came to be: one revision after another, for both databases. `migrate` applies them."""
