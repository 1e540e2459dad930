"""The tables, one text for both engines. Migrations must arrive at exactly this; a test compares.

Moments are microseconds since 1970 in a BIGINT. Group ids are digits on the outside and a BIGINT
here, because every arrival carries one. Booleans, texts and bytes are what they are.

The tables are in a file for each part of the service, and are used as `schema.device`: a table that
nobody has imported would be missing from `metadata`.
"""

from longwire.store.schema.base import NO_GROUP as NO_GROUP
from longwire.store.schema.base import SLOT_BY as SLOT_BY
from longwire.store.schema.base import TRANSACTION as TRANSACTION
from longwire.store.schema.base import GroupNumber as GroupNumber
from longwire.store.schema.base import KeyText as KeyText
from longwire.store.schema.base import group_number as group_number
from longwire.store.schema.base import metadata as metadata
from longwire.store.schema.channels import channel as channel
from longwire.store.schema.channels import connector as connector
from longwire.store.schema.channels import connector_minute as connector_minute
from longwire.store.schema.channels import deferral as deferral
from longwire.store.schema.channels import delivery as delivery
from longwire.store.schema.channels import notification as notification
from longwire.store.schema.channels import notification_state as notification_state
from longwire.store.schema.channels import replay as replay
from longwire.store.schema.devices import BATTERY_UNKNOWN as BATTERY_UNKNOWN
from longwire.store.schema.devices import NEVER_SEEN as NEVER_SEEN
from longwire.store.schema.devices import SEEN_HOUR_BITS as SEEN_HOUR_BITS
from longwire.store.schema.devices import binned_device as binned_device
from longwire.store.schema.devices import configuration_check as configuration_check
from longwire.store.schema.devices import configuration_policy as configuration_policy
from longwire.store.schema.devices import device as device
from longwire.store.schema.devices import device_report as device_report
from longwire.store.schema.devices import device_state as device_state
from longwire.store.schema.devices import device_stay as device_stay
from longwire.store.schema.devices import device_type as device_type
from longwire.store.schema.devices import device_watch as device_watch
from longwire.store.schema.devices import downlink as downlink
from longwire.store.schema.devices import downlink_grant as downlink_grant
from longwire.store.schema.devices import erasure as erasure
from longwire.store.schema.devices import network_link as network_link
from longwire.store.schema.devices import registration as registration
from longwire.store.schema.devices import unknown_device as unknown_device
from longwire.store.schema.groups import app_client as app_client
from longwire.store.schema.groups import group as group
from longwire.store.schema.groups import group_path as group_path
from longwire.store.schema.groups import mail_quota as mail_quota
from longwire.store.schema.groups import member as member
from longwire.store.schema.groups import permission as permission
from longwire.store.schema.groups import role as role
from longwire.store.schema.groups import role_permission as role_permission
from longwire.store.schema.jobs import job as job
from longwire.store.schema.jobs import job_chunk as job_chunk
from longwire.store.schema.jobs import job_item as job_item
from longwire.store.schema.measurements import ALL_GROUPS as ALL_GROUPS
from longwire.store.schema.measurements import ALL_HOURS as ALL_HOURS
from longwire.store.schema.measurements import FIRST_HOUR as FIRST_HOUR
from longwire.store.schema.measurements import LEFT_OUT as LEFT_OUT
from longwire.store.schema.measurements import current_value as current_value
from longwire.store.schema.measurements import declared_measurements as declared_measurements
from longwire.store.schema.measurements import found_measurement as found_measurement
from longwire.store.schema.measurements import measurement_key as measurement_key
from longwire.store.schema.measurements import summary_days as summary_days
from longwire.store.schema.measurements import summary_due as summary_due
from longwire.store.schema.measurements import summary_quarters as summary_quarters
from longwire.store.schema.records import activity as activity
from longwire.store.schema.records import archive_file as archive_file
from longwire.store.schema.records import archive_tombstone as archive_tombstone
from longwire.store.schema.records import arrival as arrival
from longwire.store.schema.records import counter as counter
from longwire.store.schema.records import group_storage as group_storage
from longwire.store.schema.records import reception as reception
from longwire.store.schema.records import reception_size as reception_size
from longwire.store.schema.records import record as record
from longwire.store.schema.service import audit as audit
from longwire.store.schema.service import cache_epoch as cache_epoch
from longwire.store.schema.service import config_change as config_change
from longwire.store.schema.service import instance as instance
from longwire.store.schema.service import lease as lease
from longwire.store.schema.service import node as node
from longwire.store.schema.service import writer_number as writer_number
from longwire.store.schema.users import access_token as access_token
from longwire.store.schema.users import credential as credential
from longwire.store.schema.users import external_identity as external_identity
from longwire.store.schema.users import passkey as passkey
from longwire.store.schema.users import push_token as push_token
from longwire.store.schema.users import recovery_code as recovery_code
from longwire.store.schema.users import session as session
from longwire.store.schema.users import sign_in_code as sign_in_code
from longwire.store.schema.users import used_challenge as used_challenge
from longwire.store.schema.users import user as user
from longwire.store.schema.users import user_password as user_password
from longwire.store.schema.users import user_totp as user_totp
