"""Sessions on the wire: what is sent and answered."""

from typing import Annotated

from msgspec import Meta, field

from longwire.api.identity.users import User
from longwire.api.replies import Shown
from longwire.api.types import Email, GroupId
from longwire.identity.sign_in_methods import SignInChange
from longwire.model import AuditEntry, Session, SignInMethod
from longwire.web.fields import Body, DateText, Id, Query, Reply, words

Secret = Annotated[str, Meta(min_length=1, max_length=256)]
Method = Annotated[
    str,
    Meta(
        description="How the user signed in.",
        examples=["link"],
        title="SignInMethod",
        extra_json_schema={"enum": [each.value for each in SignInMethod]},
    ),
]


class SignInInput(Body):
    """One way to sign in."""

    link: Annotated[Secret, Meta(description="What follows `=` in a sign-in link.")] | None = None
    email: Annotated[Email, Meta(description="Of a user with a password.")] | None = None
    password: Secret | None = None
    totp: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=32,
                description="With `link`, or `email` and `password`: the code of an authenticator"
                " app, or a recovery code, for users who have turned that on.",
            ),
        ]
        | None
    ) = None
    client_id: Annotated[Secret, Meta(description="Of a user's credentials.")] | None = None
    client_secret: Annotated[Secret, Meta(description="Of the same credentials.")] | None = None


class LinkInput(Body):
    """Whose link, and whether to mail it, or to show it to the caller."""

    email: Email
    group_id: (
        Annotated[GroupId, Meta(description="With `show`: a group in which both are members.")]
        | None
    ) = None
    show: Annotated[bool, Meta(description="Respond with the link, instead of mailing it.")] = False


class LinkReturn(Reply):
    """What was done, and the link that was asked for."""

    message: str
    url: Annotated[str, Meta(description="With `show`; it works once, within 15 minutes.")] | (
        None
    ) = None


class ConsoleSettings(Reply):
    """What a page needs to know before anybody has signed in."""

    version: str
    sign_in: Annotated[
        list[str], Meta(description="The ways to sign in.", examples=[["link", "client"]])
    ]
    mail: Annotated[bool, Meta(description="Whether links can be mailed.")]
    oidc_name: Annotated[str, Meta(description="What the OpenID provider is called.")] | None = None
    map_tiles: (
        Annotated[
            str,
            Meta(
                description="Where the operator's map tiles are, if they are on a server.",
                examples=["https://tiles.example.com/{z}/{x}/{y}.png"],
            ),
        ]
        | None
    ) = None
    map_file: (
        Annotated[
            str,
            Meta(
                description="The PMTiles file that the operator has added, in the folder `map` of"
                " the console; it is read in parts. Without it and `mapTiles` there is the"
                " built-in map only.",
                examples=["0f343b093112.pmtiles"],
            ),
        ]
        | None
    ) = None
    map_attribution: (
        Annotated[
            str,
            Meta(
                description="Whom the map names as the source of the tiles, as plain text.",
                examples=["© OpenStreetMap contributors"],
            ),
        ]
        | None
    ) = None


class SessionInfo(Shown[Session], kw_only=True):
    """The session of the caller."""

    user: User
    is_operator: Annotated[
        bool, Meta(description="Whether the user has every permission in every group.")
    ]
    method: Method
    created_at: DateText
    expires_at: Annotated[DateText, Meta(description="Unless it is used before.")]
    issued_by: (
        Annotated[
            str,
            Meta(
                description="The user who was shown its link, if it was another. Such a session"
                " changes nothing that outlives it, such as ways to sign in."
            ),
        ]
        | None
    ) = None
    is_fresh: Annotated[
        bool,
        Meta(
            description="Whether ways to sign in can be changed with it now: it is younger than ten"
            " minutes, and did not begin with a link that was shown.",
        ),
    ]
    has_password: Annotated[bool, Meta(description="Whether the user has a password.")]
    has_totp: Annotated[
        bool, Meta(description="Whether the user needs a code of an authenticator app.")
    ]


class SessionItem(Shown[Session]):
    """One of the sessions of a user."""

    id: Annotated[str, Meta(examples=["ses_vzpeqxr5mxjrq2uy6ct3mlgw"])] = field(name="sessionId")
    method: Method
    address: Annotated[str, Meta(description="Where it was created.", examples=["192.0.2.7"])]
    user_agent: Annotated[str, Meta(description="The browser that it was created with.")]
    created_at: DateText
    seen_at: Annotated[DateText, Meta(description="Its last use, to five minutes.")]
    expires_at: DateText
    is_this: Annotated[bool, Meta(description="Whether it is the session of this request.")]
    issued_by: (
        Annotated[str, Meta(description="The user who was shown its link, if it was another.")]
        | None
    ) = None


class SessionConnection(Reply):
    """All sessions of a user, the last used first."""

    items: list[SessionItem]


class SessionQuery(Query):
    """Which session; by default that of the request."""

    session_id: (
        Annotated[
            Id,
            Meta(
                description="By default the session of the request.",
                examples=["ses_vzpeqxr5mxjrq2uy6ct3mlgw"],
            ),
        ]
        | None
    ) = None


class SignInChangeItem(Shown[AuditEntry], kw_only=True):
    """A change of how a user signs in."""

    at: DateText = field(name="timestamp")
    action: Annotated[
        str,
        words("SignInChange", [each.value for each in SignInChange]),
        Meta(
            description="What was done, as the audit log has it. `signInLink.create` is a link that"
            " was shown to somebody, or printed by the operator.",
            examples=["password.set"],
        ),
    ] = field(name="change")
    object_name: Annotated[str, Meta(description="Of the passkey.", examples=["Phone"])] | None = (
        field(default=None, name="name")
    )
    by_other: Annotated[
        bool,
        Meta(description="Whether somebody else did it: an operator, or who was shown a link."),
    ]
    address: Annotated[str, Meta(description="Where from.", examples=["192.0.2.7"])]


class SignInChangeConnection(Reply):
    """The last changes of how a user signs in, the newest first."""

    items: list[SignInChangeItem]
