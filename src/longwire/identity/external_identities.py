"""People of an identity provider: whom one may be, and which memberships their claims give.

A subject is bound to a user at the first sign-in, by the verified address. From then on the subject
decides: an address that is given to somebody else later gives them nothing.
"""

import enum
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import ip_address
from typing import Protocol
from urllib.parse import urlsplit

import structlog

from longwire.errors import BadInput, NotAuthenticated
from longwire.identity import access, users
from longwire.identity.sign_in_methods import SignInChange
from longwire.model import SYSTEM, Membership, User
from longwire.store import locks
from longwire.store.cache import cache_epochs
from longwire.store.database import Tx
from longwire.store.identity import audit, request_owners
from longwire.store.identity import external_identities as store
from longwire.store.identity import members as store_members
from longwire.store.identity import users as store_users

log = structlog.get_logger()


class Refusal(enum.StrEnum):
    """Why somebody whom the provider knows is not signed in; the sign-in page explains each."""

    EMAIL_NOT_VERIFIED = "email_not_verified"
    DOMAIN_NOT_ALLOWED = "domain_not_allowed"
    UNKNOWN_USER = "unknown_user"
    OTHER_SUBJECT = "other_subject"


class SignInRefused(NotAuthenticated):
    """The person cannot be signed in."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__()
        self.refusal = refusal


@dataclass(frozen=True, slots=True)
class ClaimRule:
    """Whoever has this value of the claim is a member of the group with the role."""

    claim_value: str
    group_id: str
    role_id: str


@dataclass(frozen=True, slots=True)
class SignInPolicy:
    """What the operator's settings say about people of the provider."""

    domains: frozenset[str] = frozenset()
    creates_users: bool = False
    claim_rules: Sequence[ClaimRule] = ()


@dataclass(frozen=True, slots=True)
class ExternalIdentity:
    """What the provider says about a person."""

    issuer: str
    subject: str
    email: str
    is_email_verified: bool
    first_name: str | None = None
    last_name: str | None = None
    # None if the provider did not say: then memberships stay as they are.
    claim_values: Collection[str] | None = ()


class Failure(enum.StrEnum):
    """Why the provider could not be asked who somebody is; the sign-in page explains each."""

    UNAVAILABLE = "provider_unavailable"
    REFUSED = "provider_refused"
    INVALID_TOKEN = "invalid_token"


class OidcError(Exception):
    """The provider did not say who somebody is."""

    def __init__(self, failure: Failure, reason: str) -> None:
        super().__init__(reason)
        self.failure = failure


class IdentityProvider(Protocol):
    """The operator's OpenID Connect provider, as a sign-in uses it."""

    async def build_authorization_url(
        self, redirect_uri: str, *, state: str, nonce: str, code_verifier: str
    ) -> str:
        """Where to send a browser for the person to sign in; raises OidcError."""

    async def redeem(
        self, code: str, redirect_uri: str, *, issuer: str | None, nonce: str, code_verifier: str
    ) -> ExternalIdentity:
        """Who has signed in, for a code; raises OidcError."""

    async def close(self) -> None: ...


def parse_claim_rules(text: str) -> tuple[ClaimRule, ...]:
    """Lines of group id, role id and claim value; ValueError for one that has less.

    The value comes last, because the names of groups in directories have spaces and commas.
    """
    rules = []
    for line in text.replace(";", "\n").splitlines():
        if not line.strip():
            continue
        group_id, role_id, claim_value = (*line.split(None, 2), "", "", "")[:3]
        if not claim_value or not group_id.isascii() or not group_id.isdigit():
            raise ValueError(f"{line.strip()!r} must be a group id, a role id and a claim's value")
        rules.append(ClaimRule(claim_value.strip(), group_id, role_id))
    return tuple(rules)


def is_trustworthy(url: str) -> bool:
    """Whether nobody between here and there can read or change what is sent to a URL."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        is_here = host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        is_here = False
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and is_here))


def sign_in(tx: Tx, identity: ExternalIdentity, policy: SignInPolicy) -> User:
    """The user that somebody is, with the memberships that their claims give."""
    # Addresses are compared without regard to case, and some letters beyond ASCII become others
    # then: a mailbox with one of them would be that of somebody else.
    if not identity.is_email_verified or not identity.email.isascii():
        raise SignInRefused(Refusal.EMAIL_NOT_VERIFIED)
    domain = identity.email.rpartition("@")[2].lower()
    if policy.domains and domain not in policy.domains:
        raise SignInRefused(Refusal.DOMAIN_NOT_ALLOWED)
    # In this order everywhere: two sign-ins may have an address or a subject in common.
    locks.acquire_lock(tx, "address of a sign-in", store_users.email_key(identity.email))
    locks.acquire_lock(tx, "subject of a sign-in", f"{identity.issuer} {identity.subject}")
    user_id = store.get_user_id(tx, identity.issuer, identity.subject)
    bound = store_users.USERS.get(tx, user_id) if user_id is not None else None
    user = bound or _bind(tx, identity, policy)
    if identity.claim_values is not None:
        _apply_claims(tx, user, identity.claim_values, policy.claim_rules)
    return user


def _bind(tx: Tx, identity: ExternalIdentity, policy: SignInPolicy) -> User:
    """Find or create the user with the address, who is this subject from now on."""
    user = store_users.get_by_email(tx, identity.email)
    if user is None and policy.creates_users:
        user = _register(tx, identity)
    if user is None:
        raise SignInRefused(Refusal.UNKNOWN_USER)
    if store.has_subject(tx, identity.issuer, user.id):
        raise SignInRefused(Refusal.OTHER_SUBJECT)
    store.insert(tx, identity.issuer, identity.subject, user.id)
    request_owners.vouch_for(tx, user.id)
    audit.log(tx, SYSTEM, SignInChange.IDENTITY_BOUND, user.id, detail=identity.issuer)
    if user.first_name is None and user.last_name is None and identity.first_name:
        before = user
        user = replace(
            user,
            name=user.name or _join_names(identity),
            first_name=identity.first_name,
            last_name=identity.last_name,
            updated_at=tx.now,
        )
        store_users.USERS.save(tx, before, user)
    return user


def _register(tx: Tx, identity: ExternalIdentity) -> User:
    try:
        return users.register(tx, SYSTEM, identity.email)
    except BadInput:
        # An address that we would not accept from an inviter either.
        raise SignInRefused(Refusal.EMAIL_NOT_VERIFIED) from None


def _join_names(identity: ExternalIdentity) -> str:
    return " ".join(part for part in (identity.first_name, identity.last_name) if part)


def _apply_claims(
    tx: Tx, user: User, claim_values: Collection[str], rules: Sequence[ClaimRule]
) -> None:
    """Give the memberships of these values, and take those of values that are gone.

    Memberships that somebody gave by hand stay as they are.
    """
    wanted: dict[str, ClaimRule] = {}
    for rule in rules:
        if rule.claim_value in claim_values and _is_applicable(tx, rule):
            wanted.setdefault(rule.group_id, rule)  # the first rule of a group counts
    if _plan_changes(tx, user, wanted).is_empty:
        return
    # Only for a change: this invalidates what is cached about everybody. Others who change
    # memberships wait for it, so that what is read after it stays true.
    cache_epochs.bump_auth_epoch(tx)
    plan = _plan_changes(tx, user, wanted)
    for group_id in plan.taken:
        store_members.MEMBERS.delete(tx, group_id, user.id)
        audit.log(tx, SYSTEM, "member.remove", user.id, group_id=group_id)
    for rule in plan.given:
        membership = Membership(
            rule.group_id, user.id, rule.role_id, tx.now, tx.now, accepted_at=tx.now
        )
        is_new = rule.group_id in plan.new
        if is_new:
            store_members.MEMBERS.insert(tx, membership)
        store.set_claim_value(tx, membership, rule.claim_value)
        action = "member.invite" if is_new else "member.update"
        audit.log(tx, SYSTEM, action, user.id, group_id=rule.group_id, detail=rule.role_id)


def _is_applicable(tx: Tx, rule: ClaimRule) -> bool:
    is_known = bool(access.get_group_path(tx, rule.group_id)) and access.get_role(tx, rule.role_id)
    if not is_known:
        log.warning(
            "oidc_memberships names a group or a role that does not exist",
            group_id=rule.group_id,
            role_id=rule.role_id,
        )
    return bool(is_known)


@dataclass(frozen=True, slots=True)
class _MembershipPlan:
    given: Sequence[ClaimRule]  # new, or with another role or value than before
    new: Collection[str]  # the groups of those that are new
    taken: Collection[str]

    @property
    def is_empty(self) -> bool:
        return not self.given and not self.taken


def _plan_changes(tx: Tx, user: User, wanted: Mapping[str, ClaimRule]) -> _MembershipPlan:
    present = store.list_memberships(tx, user.id)
    by_claim = {group_id for group_id, (_, value) in present.items() if value is not None}
    given = [
        rule
        for group_id, rule in wanted.items()
        if (group_id in by_claim or group_id not in present)
        and present.get(group_id) != (rule.role_id, rule.claim_value)
    ]
    return _MembershipPlan(given, wanted.keys() - present.keys(), by_claim - wanted.keys())
