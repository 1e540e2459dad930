"""Limits that nobody has had a reason to change, each with its reason.

They are no settings; tests make them smaller. What an operator may want to change is in
`Settings`, and [docs/operate/limits.md] says what happens beyond each.
"""

from dataclasses import dataclass

KIB = 1024
MIB = 1024 * KIB


@dataclass(frozen=True, slots=True)
class FixedLimits:
    # --- signing in: in a minute ---
    # Failures of one client id, or account, from one address: more than typing errors need, and
    # far too few to guess.
    token_failures_per_client_max: int = 5
    sign_in_failures_per_account_max: int = 5
    # Of all client ids of an address: a site may have a thousand devices with a wrong secret.
    token_failures_per_address_max: int = 1_000
    # Of all accounts of an address: an office behind one address.
    sign_in_failures_per_address_max: int = 60
    sign_in_mails_per_address_max: int = 10
    # The least recently used one ends; nobody has so many browsers.
    sessions_per_user_max: int = 50
    # At once, where the requests of a caller are limited: what a page of the console sends.
    requests_per_caller_burst: int = 100
    # Summaries of values, from which series are made: years can be compared, and a year of hourly
    # numbers is small. A group may keep them for less long.
    summary_keep_days: int = 3_650
    # --- quotas: generous for honest use, and small enough for one list or one lock ---
    groups_per_owner_max: int = 100_000
    members_per_group_max: int = 10_000
    roles_per_creator_max: int = 1_000
    app_clients_per_group_max: int = 1_000
    device_types_per_group_max: int = 200
    # As connectors below: each process caches them, and every list of types reads them.
    device_type_bytes_per_group_max: int = 16 * MIB
    push_tokens_per_user_max: int = 100
    passkeys_per_user_max: int = 20
    # As they are stored. Each process caches them, and matching reads them.
    connector_bytes_per_group_max: int = 8 * MIB
    notification_bytes_per_group_max: int = 8 * MIB
    contact_points_per_group_max: int = 200
    notifications_per_group_max: int = 200  # each may be evaluated for every record
    silences_per_group_max: int = 100  # that have not ended; each is compared with every alarm
    reports_per_group_max: int = 50  # each makes a file, and keeps it for a week
    shares_per_group_max: int = 200  # until a week after they expire; for one list
    jobs_per_group_max: int = 20  # that wait or run
    jobs_running_per_group_max: int = 2  # so that one long job does not keep a short one waiting
    export_bytes_per_owner_max: int = 256 * MIB  # they are in the database for a day
    mails_per_owner_hour_max: int = 5_000  # or the sender's address ends on lists of spammers
    # --- a request ---
    bulk_body_bytes_max: int = 8 * MIB  # the largest batch, with some room
    json_depth_max: int = 32  # the API itself needs 5 levels
    page_items_default: int = 100
    page_items_max: int = 1_000
    bulk_ids_max: int = 1_000
    batch_records_max: int = 5_000  # of which a quarter of the ingest queue is left
    tags_max: int = 50
    tag_characters_max: int = 64
    # --- a connection ---
    head_bytes_max: int = 16 * KIB  # what most proxies take
    head_timeout_s: float = 10.0
    request_timeout_s: float = 30.0
    write_timeout_s: float = 30.0  # for a client that reads nothing
    # Of all responses that wait for clients to read them; beyond it the slowest connections of the
    # heaviest address are closed.
    response_bytes_max: int = 128 * MIB
    live_listeners_max: int = 200  # each has a queue of its own
    # --- ingest ---
    ingest_waiting_records_max: int = 20_000  # a second or two; beyond it a 503 says so earlier
    ingest_commit_records_max: int = 1_000  # more gains nothing, and others wait for it
    # While PostgreSQL is unreachable: a failover takes less, and senders time out later.
    database_patience_s: float = 10.0
    mqtt_in_flight_max: int = 100  # two commits' worth while one is flushed
    # --- delivery ---
    attempts_in_flight_max: int = 1_000  # of a process; lowered to what the descriptor limit allows
    # CPU time of a group at once, after a pause: as much as it has in so many seconds.
    compute_burst_s: float = 8.0
    codec_burst_s: float = 16.0
    # Messages a second that a resend queues: a fifth of what deliveries get beside a full ingest.
    resend_per_s: int = 100
    fcm_url: str = "https://fcm.googleapis.com"
    # --- what is kept, and shown ---
    connector_metrics_keep_days: int = 30  # by the minute
    alarm_keep_days: int = 365  # after they are resolved
    job_keep_days: int = 30  # in the list, after their end
    trace_body_bytes_max: int = 16 * KIB  # no network sends as much
    # With metrics of their own, the worst first: each is some fifteen series.
    metrics_connectors_max: int = 100
