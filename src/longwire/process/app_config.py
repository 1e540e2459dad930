"""What the layers below get of the settings: plain values and the guards that are made of them."""

from collections.abc import Callable, Collection
from dataclasses import fields
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from longwire.api.services import ShareServices, SignInGuards
from longwire.decoders.catalogue import Decoders
from longwire.delivery.destinations import catalogue as destinations
from longwire.delivery.mail import email_addresses
from longwire.delivery.mail.smtp import MailConfig
from longwire.fleet.computing import Computing, build_computing
from longwire.fleet.network_apis import NetworkApi, NetworkApis
from longwire.fleet.share_uses import ShareUses
from longwire.group_limits import SUMMARY, ServiceLimits
from longwire.identity.attempt_limits import (
    AddressLimiter,
    AttemptLimiter,
    FailureThrottle,
)
from longwire.identity.caller_rates import CallerRateLimiter
from longwire.identity.passkeys import find_relying_party
from longwire.identity.sessions import SessionRules
from longwire.inbound.mqtt_listener import ALL_OUTCOMES
from longwire.model import SignInMethod
from longwire.networks.base import CHIRPSTACK, LORIOT, THINGPARK, VENDOR
from longwire.networks.catalogue import CALLBACK_NETWORKS
from longwire.notifications.types import catalogue as notification_types
from longwire.notifications.types.base import SendingConfig
from longwire.process import startup
from longwire.prometheus import MetricLabels
from longwire.quotas import Quotas
from longwire.records import KIND_NAMES
from longwire.settings import Settings
from longwire.store.database import Database
from longwire.web.fields import InputLimits
from longwire.web.wire_limits import WireLimits
from longwire.work.owner_turns import OwnerTurns
from longwire.work.rate_limits import OperationRateLimiter, RateLimiter

# Of one user: codes have six digits, and three of them are valid at a time.
TOTP_CODES_BURST = 10
TOTP_CODES_PER_MINUTE = 1
# Of one user, or client id.
SESSIONS_BURST = 200
SESSIONS_PER_MINUTE = 60
# Requests with links of shared views: a page sends two when it is opened, and one a minute.
SHARED_VIEWS_PER_ADDRESS_AND_MINUTE = 240
SHARED_VIEWS_PER_LINK_AND_MINUTE = 600  # four times as many of an owner
SHARED_CHARTS_AT_ONCE = 2  # of an owner, beside those of people who are signed in


def build_metric_labels(settings: Settings) -> MetricLabels:
    return MetricLabels(
        attempt_types=list_attempt_types(),
        networks=CALLBACK_NETWORKS,
        mqtt_outcomes=ALL_OUTCOMES if settings.mqtt_url else (),
    )


def list_attempt_types() -> Collection[str]:
    return sorted({*destinations.TYPES, *notification_types.TYPES, *CALLBACK_NETWORKS})


def build_sending_config(settings: Settings) -> SendingConfig:
    account = settings.fcm_account and Path(settings.fcm_account).read_text()
    return SendingConfig(
        mail=MailConfig(
            smtp_host=settings.smtp_host,
            smtp_port=settings.smtp_port,
            smtp_user=settings.smtp_user,
            smtp_password=settings.smtp_password,
            smtp_from=settings.smtp_from,
            smtp_security=settings.smtp_security,
            mail_domains=email_addresses.parse_domains(settings.mail_domains),
            base_url=startup.get_base_url(settings),
            mails_per_group_hour_max=settings.mails_per_group_hour_max,
            mails_per_owner_hour_max=settings.fixed.mails_per_owner_hour_max,
        ),
        vapid_key=settings.vapid_key,
        vapid_contact=settings.vapid_contact,
        fcm_account=account,
        fcm_url=settings.fixed.fcm_url,
    )


def build_network_apis(settings: Settings) -> NetworkApis:
    return {
        VENDOR: NetworkApi(
            settings.vendor_api_url, settings.vendor_api_login, settings.vendor_api_password
        ),
        CHIRPSTACK: NetworkApi(settings.chirpstack_api_url, secret=settings.chirpstack_api_key),
        LORIOT: NetworkApi(
            settings.loriot_api_url, settings.loriot_app_id, settings.loriot_api_key
        ),
        THINGPARK: NetworkApi(
            settings.thingpark_api_url, settings.thingpark_as_id, settings.thingpark_as_key
        ),
    }


def build_session_rules(settings: Settings) -> SessionRules:
    return SessionRules(
        idle_s=settings.session_idle_s,
        lifetime_s=settings.session_lifetime_s,
        per_user_max=settings.fixed.sessions_per_user_max,
    )


def list_sign_in_methods(settings: Settings) -> list[str]:
    """The ways to sign in that a page can offer."""
    offered = [SignInMethod.LINK, SignInMethod.CLIENT]
    if settings.password_sign_in:
        offered.append(SignInMethod.PASSWORD)
    if settings.oidc_issuer:
        offered.append(SignInMethod.OIDC)
    if find_relying_party(startup.get_base_url(settings)) is not None:
        offered.append(SignInMethod.PASSKEY)
    return list(offered)


def build_sign_in_guards(settings: Settings, database: Database) -> SignInGuards:
    clock = database.context.clock
    mails = settings.fixed.sign_in_mails_per_address_max
    nodes = _count_serving(database)
    limiter = partial(RateLimiter, clock, nodes=nodes)
    # Where nobody says who they are before they have proved it.
    failures_by_address = partial(
        AddressLimiter,
        clock,
        per_minute=settings.fixed.sign_in_failures_per_address_max,
        nodes=nodes,
    )
    return SignInGuards(
        failures=FailureThrottle(
            clock,
            per_account=settings.fixed.sign_in_failures_per_account_max,
            per_address=settings.fixed.sign_in_failures_per_address_max,
            nodes=nodes,
        ),
        client_failures=FailureThrottle(
            clock,
            per_account=settings.fixed.token_failures_per_client_max,
            per_address=settings.fixed.token_failures_per_address_max,
            nodes=nodes,
        ),
        codes=AttemptLimiter(limiter(burst=TOTP_CODES_BURST, per_minute=TOTP_CODES_PER_MINUTE)),
        mails=AddressLimiter(clock, per_minute=mails, nodes=nodes),
        sessions=limiter(burst=SESSIONS_BURST, per_minute=SESSIONS_PER_MINUTE),
        passkeys=failures_by_address(),
        oidc=failures_by_address(),
    )


def _count_serving(database: Database) -> Callable[[], int]:
    """How many processes share what one caller may do."""
    return lambda: len(database.cluster.serving)


def get_public_origin(settings: Settings) -> str:
    """Scheme, host and port of the public URL, as browsers write them."""
    url = urlsplit(startup.get_base_url(settings))
    return f"{url.scheme}://{url.netloc}".lower()


def build_request_rate_limiter(settings: Settings, database: Database) -> CallerRateLimiter:
    return CallerRateLimiter(
        database.context.clock,
        burst=settings.fixed.requests_per_caller_burst,
        per_s=settings.requests_per_caller_per_s,
        nodes=_count_serving(database),
    )


def build_share_services(
    database: Database, rate_limiter: CallerRateLimiter, uses: ShareUses
) -> ShareServices:
    clock, per_address = database.context.clock, SHARED_VIEWS_PER_ADDRESS_AND_MINUTE
    return ShareServices(
        addresses=RateLimiter(
            clock, burst=per_address, per_minute=per_address, nodes=_count_serving(database)
        ),
        requests=OperationRateLimiter(clock, SHARED_VIEWS_PER_LINK_AND_MINUTE),
        callers=rate_limiter,
        charts=OwnerTurns(SHARED_CHARTS_AT_ONCE),
        uses=uses,
    )


def open_computing(settings: Settings, database: Database) -> Computing:
    """The decoders of a process, which transactions find as well, and budgets for codecs."""
    decoders = Decoders()
    database.context.caches.adopt(decoders)
    per_s = settings.codec_ms_per_group_per_s
    return build_computing(decoders, per_s, round(per_s * settings.fixed.codec_burst_s))


def build_service_limits(settings: Settings) -> ServiceLimits:
    """What holds for all groups, unless it is said for one."""
    names = (*KIND_NAMES, "metrics")
    days = {name: getattr(settings, f"retention_{name}_days") for name in names}
    return ServiceLimits(
        {**days, SUMMARY: settings.fixed.summary_keep_days},
        settings.stored_records_per_group_max,
        settings.stored_bytes_per_group_max,
        settings.requests_per_caller_per_s,
    )


def build_input_limits(settings: Settings) -> InputLimits:
    return InputLimits(
        body_bytes_max=settings.body_bytes_max,
        bulk_body_bytes_max=settings.fixed.bulk_body_bytes_max,
        json_depth_max=settings.fixed.json_depth_max,
        page_items_max=settings.fixed.page_items_max,
        page_items_default=settings.fixed.page_items_default,
        bulk_ids_max=settings.fixed.bulk_ids_max,
        batch_records_max=settings.fixed.batch_records_max,
        tags_max=settings.fixed.tags_max,
        tag_characters_max=settings.fixed.tag_characters_max,
    )


def build_quotas(settings: Settings) -> Quotas:
    """Each quota is a setting of the same name, or fixed."""
    names = [each.name for each in fields(Quotas)]
    fixed = settings.fixed
    return Quotas(
        **{name: getattr(settings if hasattr(settings, name) else fixed, name) for name in names}
    )


def build_wire_limits(settings: Settings) -> WireLimits:
    return WireLimits(
        head_bytes_max=settings.fixed.head_bytes_max,
        head_timeout_s=settings.fixed.head_timeout_s,
        request_timeout_s=settings.fixed.request_timeout_s,
        write_timeout_s=settings.fixed.write_timeout_s,
        keep_alive_s=settings.keep_alive_s,
        connections_max=settings.connections_max,
        connections_per_address_max=settings.connections_per_address_max,
        unsent_bytes_max=settings.fixed.response_bytes_max,
    )
