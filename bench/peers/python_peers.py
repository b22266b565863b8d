"""Prints the schema and the statements of the installed packages of procrastinate and pgmq."""

import importlib.metadata
import importlib.resources
import json
import re

import pgmq
import pgmq._sql
import procrastinate.schema
from procrastinate import sql


def positional(query: str) -> str:
    """psycopg's %s as $1, $2, ..."""
    parts = iter(range(1, 100))
    return re.sub("%s", lambda _: f"${next(parts)}", query)


def named(query: str, **arguments: str) -> str:
    """psycopg's %(name)s as the argument of that name."""
    return re.sub(r"%\((\w+)\)s", lambda match: arguments[match[1]], query)


print(
    json.dumps(
        {
            "procrastinate": {
                "version": importlib.metadata.version("procrastinate"),
                "schema": procrastinate.schema.SchemaManager.get_schema(),
                "claim": named(sql.queries["fetch_job"], queues="NULL", worker_id="$1"),
                "complete": named(
                    sql.queries["finish_job"], job_id="$1", status="'succeeded'", delete_job="false"
                ),
                "purge": named(
                    sql.queries["delete_old_jobs"], statuses="'{succeeded}'", queue="NULL", nb_hours="'2160'"
                ),
            },
            "pgmq": {
                "version": importlib.resources.files("pgmq.sql").joinpath("VERSION").read_text().strip(),
                "schema": importlib.resources.files("pgmq.sql").joinpath("pgmq.sql").read_text(),
                "claim": positional(pgmq._sql.READ),
                "complete_one": positional(pgmq._sql.ARCHIVE),
                "complete_many": positional(pgmq._sql.ARCHIVE_BATCH),
            },
        }
    )
)
