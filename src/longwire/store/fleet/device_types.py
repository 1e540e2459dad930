"""The catalogue of device types."""

from dataclasses import replace

from longwire.model import DeviceType, Page, PageRequest
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.fleet import configurations, measurements
from longwire.store.rows import Rows

TYPES = Rows(DeviceType, schema.device_type, "name")


def get(tx: Tx, name: str) -> DeviceType | None:
    return TYPES.get(tx, name)


def list_page(tx: Tx, request: PageRequest) -> Page[DeviceType]:
    return TYPES.page(tx, request, order="name")


def list_all(tx: Tx) -> list[DeviceType]:
    return TYPES.list_all(tx, order="name")


def upsert(tx: Tx, device_type: DeviceType) -> None:
    """Add a type, or change the one of that name."""
    saved = replace(device_type, updated_at=max(tx.now, device_type.updated_at))
    present = TYPES.get(tx, saved.name)
    if present is None:
        TYPES.insert(tx, saved, created_at=tx.now)
    else:
        TYPES.save(tx, present, saved)


def delete(tx: Tx, name: str) -> bool:
    configurations.delete_of_type(tx, name)
    measurements.delete_of_type(tx, name)
    return TYPES.delete(tx, name)
