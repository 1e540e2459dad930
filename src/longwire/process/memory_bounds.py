"""How much memory clients can make a process keep."""

from longwire.inbound import unknown_devices
from longwire.live.hub import BOX_BYTES_MAX
from longwire.settings import Settings
from longwire.store.cache import cache, compiled_bound
from longwire.store.engines import sqlite
from longwire.web import response_cache
from longwire.web.http_protocol import CONNECTION_BUFFER_BYTES

MIB = 1024 * 1024


def describe_memory_bounds(connections_max: int, settings: Settings) -> dict[str, int]:
    """What clients can make the process keep in memory, in MiB; the program itself comes on top."""
    connection_bytes = settings.fixed.head_bytes_max + CONNECTION_BUFFER_BYTES
    return {
        "connections_mib": connections_max * connection_bytes // MIB,
        "requests_mib": settings.request_bytes_max // MIB,
        "responses_mib": settings.fixed.response_bytes_max // MIB,
        "live_mib": settings.fixed.live_listeners_max * BOX_BYTES_MAX // MIB,
        "unknown_devices_mib": unknown_devices.BYTES_MAX // MIB,
        "compiled_mib": compiled_bound.BYTES_MAX // MIB,
        "config_cache_mib": (cache.CONFIG_BYTES_MAX + cache.COMPILED_BYTES_MAX) // MIB,
        "response_cache_mib": 0 if settings.database else response_cache.BYTES_MAX // MIB,
        "database_cache_mib": 0 if settings.database else sqlite.CACHES_KIB // 1024,
    }
