"""The service without logs of attempts that succeed, for `bench.traces` to compare with."""

from collections.abc import Mapping
from typing import Any

from longwire.cli import main
from longwire.delivery import settlement
from longwire.store import deliveries
from longwire.store.database import DialectSql, Tx
from longwire.store.delivery_states import SUCCEEDED, DeliveryState
from longwire.store.dialects import array_param, in_array

_SUCCEED = deliveries._settle(
    f"""{SUCCEEDED},
    {deliveries._first_end(DeliveryState.SUCCEEDED)},
    error = null,
    body = null,
    context = null""",
    in_array("seqs"),
    DialectSql("", ""),
)


def succeed(tx: Tx, lease: deliveries.LeaseKey, logs: Mapping[int, Any]) -> set[int]:
    return deliveries._settle_rows(tx, _SUCCEED, lease, {"seqs": array_param(tx, logs)})


def log_attempt(tx: Tx, attempt: Any) -> str:
    return "[]"


settlement._log_attempt = log_attempt
deliveries.succeed = succeed

if __name__ == "__main__":
    main()
