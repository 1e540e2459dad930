"""What the operations use of the application, as one value; `web` does not look into it."""

from collections.abc import Mapping
from dataclasses import dataclass

from longwire.delivery.channels import DispatchContext
from longwire.delivery.http.egress import Egress
from longwire.ingest.sequencer import Sequencer
from longwire.ingest.service import Ingest
from longwire.notifications.types.base import SendingConfig
from longwire.quotas import Quotas
from longwire.web import routing


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The parts of the application, and what of its settings the operations depend on."""

    retention_days: Mapping[str, int]  # by record kind, and for metrics; 0 for ever
    egress: Egress
    writer: int  # the id of this process among those that write the database
    dispatch: DispatchContext
    sending_config: SendingConfig
    quotas: Quotas
    group_deletion_grace_hours: int
    sequencer: Sequencer
    ingest: Ingest


Context = routing.Context[Services]
AsyncContext = routing.AsyncContext[Services]
