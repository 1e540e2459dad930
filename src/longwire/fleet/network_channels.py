"""The channel handlers of networks, by purpose."""

from longwire.delivery.channel_handlers import (
    ChannelHandler,
)
from longwire.delivery.channels import DispatchContext
from longwire.fleet import downlink_states, registrations
from longwire.fleet.downlink_channel import DownlinkHandler
from longwire.fleet.network_apis import NetworkApis
from longwire.fleet.registration_channel import RegistrationHandler
from longwire.store.database import Database


def network_handlers(
    database: Database, dispatch: DispatchContext, apis: NetworkApis
) -> dict[str, ChannelHandler]:
    return {
        downlink_states.PURPOSE: DownlinkHandler(database, dispatch, apis.chirpstack),
        registrations.PURPOSE: RegistrationHandler(database, apis.vendor),
    }
