"""To whom a group may send mail, and how many: the operator's server is no relay for everybody."""

import re

from longwire.clock import HOUR, SECOND
from longwire.delivery.destinations.base import FailureCode, Refused
from longwire.delivery.mail.smtp import MailConfig
from longwire.errors import TooManyRequests
from longwire.identity import access
from longwire.store.database import Tx
from longwire.store.identity import mail_quotas, users
from longwire.store.identity import members as store_members

NOT_A_MEMBER = Refused(
    "the address does not belong to a member who has accepted the invitation",
    is_final=True,
    code=FailureCode.WITHDRAWN,
)
# Of one user, from whatever groups: so many are not needed, and more would be a nuisance.
INVITATIONS_PER_HOUR_MAX = 10
LINE_CHARACTERS_MAX = 80
# Mail programs make links of whatever has a scheme, or a dot before letters; and other dots count.
_LINK_PARTS = re.compile("://|(?<=\\w)[.\u3002\uff0e\uff61](?=[^\\W\\d_])")
QUOTA_USED_UP = "the group has sent as many mails as it may in an hour"


def reserve_mail(tx: Tx, group_id: str, config: MailConfig) -> None:
    """Count one mail of a group; TooManyRequests if the quota of this hour is used up."""
    of_group, of_user = mail_quotas.count_mail(tx, group_id)
    if of_group > config.mails_per_group_hour_max or of_user > config.mails_per_owner_hour_max:
        raise TooManyRequests(
            f"{QUOTA_USED_UP[0].upper()}{QUOTA_USED_UP[1:]}.", retry_after_s=_until_next_hour(tx)
        )


def reserve_invitation(tx: Tx, user_id: str) -> None:
    """Count one invitation of a user; TooManyRequests if there were enough in this hour."""
    if mail_quotas.count_one(tx, f"invited {user_id}") > INVITATIONS_PER_HOUR_MAX:
        raise TooManyRequests(
            "This address was sent enough invitations in this hour.",
            retry_after_s=_until_next_hour(tx),
        )


def to_line(text: str) -> str:
    """What somebody calls something, for a mail to others: one short line without a link."""
    printable = "".join(each if each.isprintable() else " " for each in text)
    line = " ".join(_LINK_PARTS.sub(" ", printable).split())
    is_long = len(line) > LINE_CHARACTERS_MAX
    return f"{line[: LINE_CHARACTERS_MAX - 1]}…" if is_long else line


def check_notification_mail(
    tx: Tx, group_id: str, address: str, config: MailConfig
) -> Refused | None:
    """Why a mail of a notification may not be sent now; None if it may, and then it is counted.

    Recipients are members of the group or of one above who have accepted, and addresses in the
    domains that the operator lists.
    """
    if not _may_receive(tx, group_id, address, config):
        return NOT_A_MEMBER
    try:
        reserve_mail(tx, group_id, config)
    except TooManyRequests as error:
        return Refused(
            QUOTA_USED_UP, retry_after_s=error.retry_after_s, code=FailureCode.QUOTA_USED_UP
        )
    return None


def _may_receive(tx: Tx, group_id: str, address: str, config: MailConfig) -> bool:
    user = users.get_by_email(tx, address)
    path = access.get_group_path(tx, group_id)
    if user is not None and store_members.list_invitations(tx, user.id, [group_id]):
        return False
    if config.mail_domains:  # those outside of them are refused by the SMTP client
        return True
    return user is not None and store_members.is_accepted_member(tx, user.id, path)


def _until_next_hour(tx: Tx) -> int:
    return (HOUR - tx.now % HOUR) // SECOND + 1
