"""Runs state machines of hypothesis on a database."""

import asyncio
from typing import Any

from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from longwire.store.database import Database


def run_on_database(
    machine: type[RuleBasedStateMachine],
    database: Database,
    runner: asyncio.Runner,
    *,
    examples: int,
    steps: int,
    **attributes: Any,
) -> None:
    """Run histories of so many steps; the machine has the database, the runner and attributes."""
    attributes |= {"database": database, "runner": runner}
    run_state_machine_as_test(
        type("OnThisDatabase", (machine,), attributes),
        settings=hypothesis_settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
