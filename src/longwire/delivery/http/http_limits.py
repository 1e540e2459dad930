"""Limits of one HTTP attempt, whichever client makes it."""

TOTAL_TIMEOUT_S = 15.0  # from connecting to the end of the response
INTERIM_HEADS_MAX = 8
HEAD_BYTES_MAX = 64 * 1_024  # before the end of the final head
HEADERS_MAX = 256
# Of the body; what follows is not read.
RESPONSE_BYTES_MAX = 64 * 1_024
# Of everything: a body of that size fits in chunks of six bytes.
ATTEMPT_BYTES_MAX = 128 * 1_024
# Shorter than the five seconds after which many servers close idle connections: a request that
# crosses with the close would fail.
KEEP_ALIVE_S = 4.0
# Used by new connections only; cached addresses have been checked.
DNS_CACHE_TTL_S = 10

TOO_MANY_INTERIM = "the receiver sent too many interim responses"
HEAD_TOO_LARGE = "the receiver sent too much before the end of the response's head"
RESPONSE_TOO_LARGE = "the receiver sent more than a response may have"
