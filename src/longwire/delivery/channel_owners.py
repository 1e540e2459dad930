"""Connectors, notifications and contact points: one flow to create, get, list, update and delete.

An `OwnerKind` describes what the two differ in, `DraftRules` how their drafts are validated and
merged. Validation collects every fault, so that a response can name all of them.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Generic, TypeVar

from longwire.clock import Moment
from longwire.delivery import channels, retry_policy
from longwire.delivery.channels import ChannelPolicy
from longwire.delivery.destinations import parameters
from longwire.delivery.destinations.base import ParamsBase
from longwire.delivery.http.egress import Egress
from longwire.errors import BadInput, FieldError, LongwireError, not_found
from longwire.identity import access
from longwire.ids import new_id
from longwire.model import (
    Actor,
    Channel,
    ChannelOwner,
    ChannelPurpose,
    Page,
    PageRequest,
)
from longwire.object_versions import NewText, next_version, require_version, update_text
from longwire.store import locks
from longwire.store.database import Tx
from longwire.store.delivery import channels as store_channels
from longwire.store.delivery.channel_owners import OwnerTable
from longwire.store.fleet import device_types as store_device_types
from longwire.store.fleet import reporting_devices
from longwire.store.identity import audit
from longwire.store.identity.audit import MaskedText

_POLICY = ChannelPolicy(storing_s=retry_policy.STORING_DEFAULT_S)
# The channel itself, what is in its parameters as well, and what changes with every message.
_NOT_AUDITED = (
    *("channel", "subgroups", "fired_at", "sent_at"),
    *("actor_kind", "actor_id", "due_at", "run_at", "last_run_id"),
)


@dataclass(frozen=True, slots=True)
class ChannelDraft:
    """What drafts of connectors and notifications share.

    None leaves a field as it is; an empty text removes it, but for names and descriptions.
    """

    params: str | None = None
    type: str | None = None
    name: NewText = None
    description: NewText = None
    device_types: Sequence[str] | None = None
    is_enabled: bool | None = None
    tags: Sequence[str] | None = None
    if_updated_at: Moment | None = None  # the version that the update is based on


Owner = TypeVar("Owner", bound=ChannelOwner)
Draft = TypeVar("Draft", bound=ChannelDraft)
P = TypeVar("P", bound=ParamsBase)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class OwnerView(Generic[Owner]):
    """A connector or notification as an actor may see it."""

    owner: Owner
    params: str


@dataclass(frozen=True, slots=True)
class CheckedParams(Generic[P]):
    """Parameters as text and as a value, or what is invalid about them."""

    text: str = ""
    value: P | None = None
    field_errors: list[FieldError] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class DraftRules(Generic[Owner, Draft, P]):
    """How a draft is validated and merged."""

    parse_params: Callable[[type[P], str], P]
    egress: Egress
    # Of new parameters, beyond their own validation; with the name of their type.
    check_params: Callable[[str, P], list[FieldError]]
    check: Callable[[Tx, Owner, Draft, P | None], list[FieldError]]
    merge: Callable[[Owner, Draft, P], Owner]  # what is particular to this kind of owner


@dataclass(frozen=True, slots=True)
class OwnerKind(Generic[Owner, P]):
    """What connectors, notifications and contact points differ in."""

    purpose: ChannelPurpose  # also the noun in the audit log and in messages
    permissions: str  # the noun in them
    id_field: str  # of requests
    id_prefix: str
    missing_noun: str
    owner_type: type[Owner]
    store: OwnerTable[Owner]
    types: Collection[str]
    get_params_type: Callable[[str], type[P]]
    audit_policies: Callable[[Channel], audit.Fields]  # those of the channel that users configure

    # --- get and list ---

    def require(
        self, tx: Tx, actor: Actor, action: str, group_id: str | None, owner_id: str
    ) -> Owner:
        """The one with this id, of a group or of all that the actor may see."""
        permission = f"{self.permissions}.{action}"
        scope = access.authorize_optional_group(tx, actor, permission, group_id)
        found = self.store.get(tx, scope, owner_id)
        if found is None:
            raise self.missing()
        return found

    def missing(self) -> LongwireError:
        return not_found(self.id_field, self.missing_noun)

    def list_page(
        self,
        tx: Tx,
        actor: Actor,
        group_id: str | None,
        request: PageRequest,
        *,
        subgroups: bool = False,
    ) -> Page[Owner]:
        """Those of a group, with those of groups below or without, or all the actor may see."""
        permission = f"{self.permissions}.read"
        if group_id is not None and subgroups:
            tree = access.authorize_tree(tx, actor, permission, group_id)
            return self.store.list_page(tx, tree, request, None)
        scope = access.authorize_optional_group(tx, actor, permission, group_id)
        return self.store.list_page(tx, scope, request, group_id)

    def view(self, tx: Tx, actor: Actor, owner: Owner) -> OwnerView[Owner]:
        """With its secrets for actors that may update it, masked for all others."""
        text = channels.unseal_params(tx, owner.channel)
        if f"{self.permissions}.write" not in access.get_permissions(tx, actor, owner.group_id):
            text = parameters.mask_secrets(self.get_params_type(owner.channel.type), text)
        return OwnerView(owner, text)

    def open_params(self, tx: Tx, channel: Channel) -> P:
        return self._parse_stored(channel.type, channels.unseal_params(tx, channel))

    def _parse_stored(self, type_name: str, text: str) -> P:
        return parameters.parse_params(self.get_params_type(type_name), text)

    # --- create, update, delete ---

    def build(
        self,
        tx: Tx,
        actor: Actor,
        group_id: str,
        draft: Draft,
        rules: DraftRules[Owner, Draft, P],
        *,
        requested_id: str | None = None,
    ) -> Owner:
        """A new one of a group in which the actor may create it; not stored yet."""
        field_errors: list[FieldError] = []
        if requested_id is not None:
            # Of two requests for the same id one fails.
            locks.acquire_lock(tx, "channel", requested_id)
            if store_channels.id_exists(tx, requested_id):
                field_errors = [FieldError("id", "is taken; omit it to get a new one")]
        channel_id = new_id(self.id_prefix) if requested_id is None else requested_id
        channel = channels.build_channel(
            tx, actor, self.purpose, channel_id, group_id, draft.type or "", _POLICY
        )
        return self._apply_draft(tx, self.owner_type(channel), draft, None, rules, field_errors)

    def insert(self, tx: Tx, actor: Actor, owner: Owner) -> Owner:
        """Store a new one; returns it with its number."""
        created = self.store.insert(tx, owner)
        detail = created.channel.type
        self.log(tx, actor, "create", created, detail, after=self._audited(tx, created))
        return created

    def update(
        self,
        tx: Tx,
        actor: Actor,
        group_id: str,
        owner_id: str,
        draft: Draft,
        rules: DraftRules[Owner, Draft, P],
    ) -> tuple[Owner, Owner]:
        """Apply a draft; returns it as it was before, and as it is now."""
        before = self._lock(tx, actor, group_id, owner_id)
        require_version(before.channel.updated_at, draft.if_updated_at)
        stored = channels.unseal_params(tx, before.channel)
        changed = self._apply_draft(tx, before, draft, stored, rules, [])
        updated_at = next_version(tx.now, before.channel.updated_at)
        channel = replace(changed.channel, updated_at=updated_at, updated_by=actor.id)
        self.store.save(tx, before, replace(changed, channel=channel))
        after = self.store.get_by_numbers(tx, [before.number])[before.number]
        self.log(
            tx,
            actor,
            "update",
            after,
            before=self._audited(tx, before),
            after=self._audited(tx, after),
        )
        return before, after

    def try_update(
        self,
        tx: Tx,
        actor: Actor,
        group_id: str,
        owner_id: str,
        draft: Draft,
        rules: DraftRules[Owner, Draft, P],
    ) -> tuple[Owner, Owner]:
        """The same without changing anything."""
        before = self.require(tx, actor, "write", group_id, owner_id)
        stored = channels.unseal_params(tx, before.channel)
        return before, self._apply_draft(tx, before, draft, stored, rules, [])

    def delete(self, tx: Tx, actor: Actor, group_id: str, owner_id: str) -> Owner:
        """Delete it with its undelivered messages; returns it as it was."""
        owner = self._lock(tx, actor, group_id, owner_id)
        self.store.mark_deleted(tx, owner)
        self.log(tx, actor, "delete", owner, before=self._audited(tx, owner))
        return owner

    def log(
        self,
        tx: Tx,
        actor: Actor,
        action: str,
        owner: Owner,
        detail: str = "",
        *,
        before: audit.Fields | None = None,
        after: audit.Fields | None = None,
    ) -> None:
        audit.log(
            tx,
            actor,
            f"{self._audit_noun}.{action}",
            owner.id,
            group_id=owner.group_id,
            detail=detail,
            name=owner.name,
            before=before,
            after=after,
        )

    def _audited(self, tx: Tx, owner: Owner) -> audit.Fields:
        """What users configure, as they configure it, without its secrets."""
        channel = owner.channel
        text = channels.unseal_params(tx, channel)
        shown = parameters.mask_secrets(self.get_params_type(channel.type), text)
        own = [each.name for each in fields(owner) if self._is_audited(each.name)]
        return {
            **{name: getattr(owner, name) for name in own},
            "type": channel.type,
            "params": MaskedText(text, shown),
            **self.audit_policies(channel),
        }

    @property
    def _audit_noun(self) -> str:
        first, *others = self.purpose.split("_")
        return first + "".join(each.title() for each in others)

    def _is_audited(self, name: str) -> bool:
        return name not in _NOT_AUDITED and name in self.store.fields

    def _lock(self, tx: Tx, actor: Actor, group_id: str, owner_id: str) -> Owner:
        """The one with this id, after concurrent updates of it have been committed."""
        access.authorize(tx, actor, f"{self.permissions}.write", group_id)
        locks.acquire_lock(tx, "channel", owner_id)
        return self.require(tx, actor, "write", group_id, owner_id)

    # --- drafts ---

    def _apply_draft(
        self,
        tx: Tx,
        owner: Owner,
        draft: Draft,
        stored: str | None,
        rules: DraftRules[Owner, Draft, P],
        field_errors: list[FieldError],
    ) -> Owner:
        """The owner with the draft applied, or an error that names every invalid field."""
        checked = self._check_params(draft, owner.channel, stored, rules)
        all_errors = [
            *field_errors,
            *checked.field_errors,
            *rules.check(tx, owner, draft, checked.value),
        ]
        if all_errors or checked.value is None:
            raise BadInput(field_errors=all_errors)
        channel = owner.channel
        if checked.text != stored:
            sealed = channels.seal_params(tx, channel, checked.text)
            channel = replace(channel, sealed_params=sealed)
        merged = _merge(replace(owner, channel=channel), draft)
        return rules.merge(merged, draft, checked.value)

    def _check_params(
        self,
        draft: Draft,
        current: Channel,
        stored: str | None,
        rules: DraftRules[Owner, Draft, P],
    ) -> CheckedParams[P]:
        """The parameters of the draft, or the stored ones where the draft has none."""
        type_name = draft.type or current.type
        if type_name not in self.types:
            return _invalid("type", f"is unknown; known are {', '.join(self.types)}")
        if draft.params is not None:
            stored_alike = stored if type_name == current.type else None
            return self._validate_params(type_name, draft.params, stored_alike, rules)
        if type_name != current.type:
            return _invalid("params", f"are required for a {self.purpose} of type {type_name}")
        if stored is None:
            return _invalid("params", "is required")
        # Not validated again: if the rules have changed, the channel could not even be disabled.
        return CheckedParams(stored, self._parse_stored(type_name, stored))

    def _validate_params(
        self,
        type_name: str,
        text: str,
        stored: str | None,
        rules: DraftRules[Owner, Draft, P],
    ) -> CheckedParams[P]:
        params_type = self.get_params_type(type_name)
        try:
            text, params, field_errors = parameters.validate_params(
                params_type, text, stored, rules.parse_params, rules.egress
            )
        except BadInput as error:
            return CheckedParams(field_errors=list(error.field_errors))
        field_errors = [*field_errors, *rules.check_params(type_name, params)]
        if field_errors:
            return CheckedParams(field_errors=field_errors)
        return CheckedParams(text, params)


def _invalid(place: str, reason: str) -> CheckedParams[P]:
    return CheckedParams(field_errors=[FieldError(place, reason)])


def _merge(owner: Owner, draft: ChannelDraft) -> Owner:
    channel = replace(
        owner.channel,
        type=draft.type or owner.channel.type,
        is_enabled=updated(draft.is_enabled, owner.channel.is_enabled),
    )
    return replace(
        owner,
        channel=channel,
        name=update_text(draft.name, owner.name),
        description=update_text(draft.description, owner.description),
        device_types=updated_unique(draft.device_types, owner.device_types),
        tags=owner.tags if draft.tags is None else tuple(draft.tags),
    )


def check_device_types(tx: Tx, names: Sequence[str] | None, group_id: str) -> list[FieldError]:
    """Types of all, and of the groups on whose devices a channel of this one may depend."""
    if not names:
        return []
    known = store_device_types.list_names_around(tx, group_id)
    return [
        FieldError(f"device_types[{index}]", "is not a known device type")
        for index, name in enumerate(names)
        if name not in known
    ]


def check_devices(tx: Tx, ids: Mapping[str, str], group_ids: Collection[str]) -> list[FieldError]:
    """Devices by the field that names them: each must be in one of the groups."""
    if not ids:
        return []
    found = reporting_devices.get_reporting(tx, list(ids.values()))
    return [
        FieldError(place, "is not a device of this group")
        for place, each in ids.items()
        if each not in found or found[each].group_id not in group_ids
    ]


def updated(new: T | None, current: T) -> T:
    """The new value, or the current one where the draft has none."""
    return current if new is None else new


def updated_text(new: str | None, current: str | None) -> str | None:
    """The same for a text that an empty one removes."""
    return current if new is None else new or None


def updated_unique(new: Sequence[str] | None, current: tuple[str, ...]) -> tuple[str, ...]:
    return current if new is None else tuple(dict.fromkeys(new))
