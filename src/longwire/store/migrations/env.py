"""What Alembic runs for every command: the steps, on the connection that `upgrade` was given."""

from alembic import context

from longwire.store.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,  # SQLite changes a table by copying it
)
with context.begin_transaction():
    context.run_migrations()
