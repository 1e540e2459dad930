"""What the operations use of the application, as one value; `web` does not look into it."""

from collections.abc import Sequence
from dataclasses import dataclass

from longwire.delivery.channels import DispatchContext
from longwire.delivery.http.egress import Egress
from longwire.delivery.mail.sign_in_mail import SignInMailer
from longwire.fleet.computing import Computing
from longwire.fleet.downlink_queues import NetworkQueues
from longwire.fleet.share_uses import ShareUses
from longwire.identity.attempt_limits import (
    AddressLimiter,
    AttemptLimiter,
    FailureThrottle,
)
from longwire.identity.caller_rates import CallerRateLimiter
from longwire.identity.external_identities import IdentityProvider, SignInPolicy
from longwire.identity.passkeys import RelyingParty
from longwire.identity.passwords import PasswordHashing
from longwire.identity.sessions import SessionRules
from longwire.ingest.sequencer import Sequencer
from longwire.ingest.service import Ingest
from longwire.map_archives.folder import MapFolder
from longwire.notifications.types.base import SendingConfig
from longwire.quotas import Quotas
from longwire.web import routing
from longwire.work.owner_turns import OwnerTurns
from longwire.work.rate_limits import OperationRateLimiter, RateLimiter


@dataclass(frozen=True, slots=True)
class SignInGuards:
    """What keeps strangers from guessing, and from sending mail."""

    failures: FailureThrottle
    client_failures: FailureThrottle  # shared with the token endpoint
    codes: AttemptLimiter  # of authenticator apps, by user and what they come with
    mails: AddressLimiter  # links that are requested by mail
    sessions: RateLimiter  # those that are created, by user or client id
    passkeys: AddressLimiter  # failures
    oidc: AddressLimiter  # failures


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInServices:
    """The ways to sign in, and what they depend on."""

    methods: Sequence[str]
    rules: SessionRules
    guards: SignInGuards
    hashing: PasswordHashing
    mailer: SignInMailer
    base_url: str
    passkey_party: RelyingParty | None  # without it browsers have no passkeys here
    oidc_provider: IdentityProvider | None
    oidc_policy: SignInPolicy
    oidc_name: str | None
    map_tiles: str | None  # of a server
    map_folder: MapFolder | None
    map_attribution: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareServices:
    """What keeps strangers with links from using up what others need, and what counts them."""

    addresses: RateLimiter
    requests: OperationRateLimiter  # of a link, and of all links of an owner
    callers: CallerRateLimiter  # of the group
    charts: OwnerTurns  # that are made at once
    uses: ShareUses


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The parts of the application, and what of its settings the operations depend on."""

    egress: Egress
    writer: int  # the id of this process among those that write the database
    dispatch: DispatchContext
    network_queues: NetworkQueues
    sending_config: SendingConfig
    quotas: Quotas
    group_deletion_grace_hours: int
    sequencer: Sequencer
    ingest: Ingest
    computing: Computing
    sign_in: SignInServices
    shares: ShareServices


Context = routing.Context[Services]
AsyncContext = routing.AsyncContext[Services]
