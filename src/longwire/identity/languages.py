"""In which language people are written to: their own, else that of what is sent, else English."""

from collections.abc import Collection

from longwire.identity import access
from longwire.model import Actor
from longwire.store.database import Tx
from longwire.store.identity import users as store
from longwire.translations.catalogue import DEFAULT_LANGUAGE


def get_of_actor(tx: Tx, actor: Actor) -> str | None:
    user = store.USERS.get(tx, actor.id) if actor.kind == "user" else None
    return None if user is None else user.language


def list_of_addresses(tx: Tx, group_id: str, addresses: Collection[str]) -> dict[str, str]:
    """By the lower case of an address: the language of the member who has it.

    Of members of the group or of one above who have accepted; whether others have an account, and
    which language, is not for a group to know.
    """
    if not addresses:
        return {}
    return store.list_languages(tx, addresses, access.get_group_path(tx, group_id))


def choose(*languages: str | None) -> str:
    """The first one that there is."""
    return next((each for each in languages if each), DEFAULT_LANGUAGE)
