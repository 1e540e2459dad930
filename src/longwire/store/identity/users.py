"""People, and the push tokens of their devices."""

from collections.abc import Collection

from longwire.model import Page, PageRequest, PushToken, Scope, User
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.engines.bulk import OnConflict, insert_many
from longwire.store.identity.scopes import Reach, fetch_within, for_scopes
from longwire.store.rows import Rows
from longwire.store.statement import Statement

USERS = Rows(User, schema.user, derived={"email_key": lambda user: email_key(user.email)})
PUSH_TOKENS = Rows(PushToken, schema.push_token, "digest")

FIND_CREDENTIAL = Statement("""
select client_id
from credential
where user_id = :user_id
limit 1
""")

# Of an operator, who sees everybody, whether or not they have accepted an invitation.
LIST_ALL = Statement(
    """
select {columns}, 1
from user_account
where id > :after
order by id
limit :most
""",
    columns=USERS.sql(),
)
LIST_SHARING = {
    **for_scopes(
        """
select
    {columns},
    exists (
        select 1
        from member
        where member.user_id = user_account.id
            and member.accepted_at is not null
            and {within}
    )
from user_account
where user_account.id > :after
    and user_account.id in (
        select member.user_id
        from member
        where {within}
    )
order by user_account.id
limit :most
""",
        within={"within": "member.group_id"},
        columns=USERS.sql("user_account"),
    ),
    Reach.ALL: LIST_ALL,
}

LIST_SOME = Statement(
    """
select {columns}
from user_account
where id {in:ids}
""",
    columns=USERS.sql(),
)
LIST_SOME_SHARING = {
    **for_scopes(
        """
select {columns}
from user_account
where id {in:ids}
    and id in (
        select member.user_id
        from member
        where member.user_id {in:ids}
            and member.accepted_at is not null
            and {within}
    )
""",
        within={"within": "member.group_id"},
        columns=USERS.sql(),
    ),
    Reach.ALL: LIST_SOME,
}

LIST_LANGUAGES = Statement("""
select user_account.email_key, user_account.language
from user_account
where user_account.email_key {in:keys}
    and user_account.language is not null
    and exists (
        select 1
        from member
        where member.user_id = user_account.id
            and member.accepted_at is not null
            and member.group_id {in:group_ids}
    )
""")

UPDATE_SEEN_AT = Statement("""
update user_account
set seen_at = :now
where id = :user_id
""")

GET_LATEST_PUSH_TOKEN = Statement(
    """
select {columns}
from push_token
where user_id = :user_id
order by created_at desc, digest
limit 1
""",
    columns=PUSH_TOKENS.sql(),
)

LIST_GROUP_PUSH_TOKENS = Statement("""
select push_token.user_id, push_token.digest, user_account.language
from push_token
join member
    on member.user_id = push_token.user_id
join user_account
    on user_account.id = push_token.user_id
where member.group_id = :home
    and member.accepted_at is not null
    and push_token.is_enabled
order by member.created_at, push_token.user_id, push_token.created_at, push_token.digest
""")

DISABLE_PUSH_TOKEN = Statement("""
update push_token
set is_enabled = false
where digest = :digest
    and is_enabled
""")


def get_by_email(tx: Tx, email: str) -> User | None:
    return USERS.find(tx, email_key=email_key(email))


def has_credentials(tx: Tx, user_id: str) -> bool:
    return tx.first(FIND_CREDENTIAL, user_id=user_id) is not None


def list_page(tx: Tx, scope: Scope, request: PageRequest) -> Page[tuple[User, bool]]:
    """Members of groups within the scope, and whether they have accepted in one of them.

    For an operator every user.
    """
    after = str(request.after[0]) if request.after is not None else ""
    rows = fetch_within(tx, scope, LIST_SHARING, after=after, most=request.limit + 1)
    items = [(USERS.parse(row), bool(row[-1])) for row in rows[: request.limit]]
    return Page(items, (items[-1][0].id,) if len(rows) > len(items) else None)


def list_names(tx: Tx, scope: Scope, ids: Collection[str]) -> dict[str, str]:
    """The names, or else the addresses, of those who are members of groups within the scope.

    Of those who have accepted their invitation: of others one knows what was typed in it.
    """
    rows = fetch_within(tx, scope, LIST_SOME_SHARING, ids=ids)
    people = map(USERS.parse, rows)
    return {
        each.id: each.name
        or " ".join(filter(None, (each.first_name, each.last_name)))
        or each.email
        for each in people
    }


def email_key(email: str) -> str:
    """Addresses with the same key belong to one person."""
    return email.lower()


def insert_if_absent(tx: Tx, user: User, sponsor_id: str) -> bool:
    """Insert a user, unless one has this address; the same statement in both cases."""
    row = USERS.to_row(user) | {"sponsor_id": sponsor_id}
    has_address = OnConflict(columns=("email_key",))
    return insert_many(tx, schema.user, tuple(row), [tuple(row.values())], has_address) > 0


def update_seen_at(tx: Tx, user_id: str) -> None:
    tx.run(UPDATE_SEEN_AT, user_id=user_id, now=tx.now)


def get_latest_push_token(tx: Tx, user_id: str) -> PushToken | None:
    row = tx.first(GET_LATEST_PUSH_TOKEN, user_id=user_id)
    return PUSH_TOKENS.parse(row) if row else None


def list_languages(
    tx: Tx, addresses: Collection[str], group_ids: Collection[str]
) -> dict[str, str]:
    """By the key of an address: the language of who has it and is a member of one of the groups."""
    keys = sorted({email_key(each) for each in addresses})
    numbers = [schema.group_number(each) for each in group_ids]
    return dict(tx.fetch(LIST_LANGUAGES, keys=keys, group_ids=numbers))


def list_group_push_tokens(tx: Tx, group_id: str) -> list[tuple[str, bytes, str | None]]:
    """User, digest and language of every enabled token of a group's own members who accepted."""
    return tx.fetch(LIST_GROUP_PUSH_TOKENS, home=schema.group_number(group_id))


def disable_push_token(tx: Tx, digest: bytes) -> bool:
    """Disable a dead token; False if it was disabled."""
    return tx.run(DISABLE_PUSH_TOKEN, digest=digest) > 0
