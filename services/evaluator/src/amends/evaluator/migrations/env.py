"""What alembic runs: the revisions, inside the transaction that `migrate` began, so that all happens or nothing."""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
context.run_migrations()
