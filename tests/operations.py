"""Operations as plain functions: for tests that share a transaction with them."""

from types import SimpleNamespace
from typing import Any

from longwire.model import Actor
from longwire.quotas import DEFAULT_QUOTAS, Quotas
from longwire.store.database import Tx


def context_of(tx: Tx, actor: Actor, quotas: Quotas = DEFAULT_QUOTAS) -> Any:
    """The context of a request, as far as operations without lists need it."""
    return SimpleNamespace(tx=tx, actor=actor, services=SimpleNamespace(quotas=quotas))
