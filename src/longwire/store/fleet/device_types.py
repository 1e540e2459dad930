"""The catalogue of device types."""

from typing import Any

import sqlalchemy as sa

from longwire.model import DeviceType, Page, PageRequest
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.fleet import measurements
from longwire.store.paging import page

_table = schema.device_type


def get(tx: Tx, name: str) -> DeviceType | None:
    row = tx.row(sa.select(_table).where(_table.c.name == name))
    return _device_type(row) if row else None


def list_page(tx: Tx, request: PageRequest) -> Page[DeviceType]:
    return page(tx, sa.select(_table), [_table.c.name], request, _device_type)


def list_all(tx: Tx) -> list[DeviceType]:
    return [_device_type(row) for row in tx.rows(sa.select(_table).order_by(_table.c.name))]


def upsert(tx: Tx, device_type: DeviceType) -> None:
    """Add a type, or change the one of that name."""
    values = {
        "display_name": device_type.display_name,
        "default_configuration": device_type.default_configuration,
        "battery": device_type.battery,
        "firmware_version": device_type.firmware_version,
        "is_built_in": device_type.is_built_in,
        "decoder": device_type.decoder,
        "decoder_source": device_type.decoder_source,
        "encoder_source": device_type.encoder_source,
        "decoded_location": device_type.decoded_location,
        "updated_at": max(tx.now, device_type.updated_at),
    }
    statement = sa.update(_table).where(_table.c.name == device_type.name).values(values)
    if not tx.execute(statement):
        tx.execute(sa.insert(_table), {"name": device_type.name, "created_at": tx.now, **values})


def delete(tx: Tx, name: str) -> bool:
    policy = schema.configuration_policy
    tx.execute(sa.delete(policy).where(policy.c.type == name))
    measurements.delete_of_type(tx, name)
    return tx.execute(sa.delete(_table).where(_table.c.name == name)) > 0


def _device_type(row: sa.Row[Any]) -> DeviceType:
    return DeviceType(
        name=row.name,
        display_name=row.display_name,
        default_configuration=row.default_configuration,
        battery=row.battery,
        firmware_version=row.firmware_version,
        is_built_in=row.is_built_in,
        decoder=row.decoder,
        decoder_source=row.decoder_source,
        encoder_source=row.encoder_source,
        decoded_location=row.decoded_location,
        updated_at=row.updated_at,
    )
