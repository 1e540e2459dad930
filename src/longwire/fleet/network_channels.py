"""The channel handlers of networks, by purpose."""

from longwire.delivery.channel_handlers import (
    ChannelHandler,
)
from longwire.delivery.channels import DispatchContext
from longwire.fleet.downlink_channel import DownlinkHandler
from longwire.fleet.network_apis import NetworkApi, NetworkApis
from longwire.fleet.registration_channel import RegistrationHandler
from longwire.model import ChannelPurpose
from longwire.networks.base import VENDOR
from longwire.store.database import Database


def network_handlers(
    database: Database, dispatch: DispatchContext, apis: NetworkApis
) -> dict[ChannelPurpose, ChannelHandler]:
    return {
        ChannelPurpose.DOWNLINK: DownlinkHandler(database, dispatch, apis),
        ChannelPurpose.REGISTRATION: RegistrationHandler(database, apis.get(VENDOR, NetworkApi())),
    }
