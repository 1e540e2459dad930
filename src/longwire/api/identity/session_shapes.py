"""Sessions on the wire: what is sent and answered, and how the API document describes it."""

from typing import Annotated

from msgspec import Meta

from longwire.api.identity.users import User
from longwire.api.types import Email, GenericReturnBoolean, GroupId
from longwire.identity.sign_in_methods import SignInChange
from longwire.model import SignInMethod
from longwire.web.fields import Body, DateText, Id, Query, Reply, words
from longwire.web.openapi import Json, json_response, problem_responses, schema_ref

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
                description="Where the operator's map tiles are; without it there is the built-in"
                " map only.",
                examples=["https://tiles.example.com/{z}/{x}/{y}.png"],
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


class SessionInfo(Reply, kw_only=True):
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


class SessionItem(Reply):
    """One of the sessions of a user."""

    session_id: Annotated[str, Meta(examples=["ses_vzpeqxr5mxjrq2uy6ct3mlgw"])]
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

    session_id: Id | None = None


class SignInChangeItem(Reply, kw_only=True):
    """A change of how a user signs in."""

    timestamp: DateText
    change: Annotated[
        str,
        words("SignInChange", [each.value for each in SignInChange]),
        Meta(
            description="What was done, as the audit log has it. `signInLink.create` is a link that"
            " was shown to somebody, or printed by the operator.",
            examples=["password.set"],
        ),
    ]
    name: Annotated[str, Meta(description="Of the passkey.", examples=["Phone"])] | None = None
    by_other: Annotated[
        bool,
        Meta(description="Whether somebody else did it: an operator, or who was shown a link."),
    ]
    address: Annotated[str, Meta(description="Where from.", examples=["192.0.2.7"])]


class SignInChangeConnection(Reply):
    """The last changes of how a user signs in, the newest first."""

    items: list[SignInChangeItem]


OWN_SITE = (
    "With a cookie, every request but GET needs the header `X-Longwire-Console: 1`, and must not"
    " come from another site (403, `cross_site`)."
)
OWN_HEADER: Json = {
    "name": "X-Longwire-Console",
    "in": "header",
    "required": True,
    "description": "Shows that no other site has caused the request.",
    "schema": {"type": "string", "enum": ["1"]},
    "example": "1",
}
GET_OPENAPI: Json = {
    "summary": "Get the session of the caller",
    "description": "401 without the cookie of a session, also with an access token.",
    "responses": {
        "200": json_response("The session.", schema_ref(SessionInfo)),
        **problem_responses(400, 401, 403, 408, 429, 431, 503),
    },
}
CREATE_OPENAPI: Json = {
    "summary": "Sign in",
    "description": "Sets the cookie of a session: `__Host-longwire` over HTTPS, and `longwire` over"
    " plain HTTP, which is possible on the loopback interface only. Needs the header"
    " `X-Longwire-Console: 1`. The same 401 for everything that does not match.",
    "security": [],
    "parameters": [OWN_HEADER],
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": schema_ref(SignInInput),
                "example": {"link": "lwl_HPtmTBiOSgSXmXb0OIvRhFJBmq7Cj1b3BPFLiDBhS4g"},
            }
        },
    },
    "responses": {
        "200": json_response("Signed in.", schema_ref(SessionInfo)),
        **problem_responses(400, 401, 403, 408, 413, 415, 429, 431, 503),
    },
}
_SESSION_PARAMETER: Json = {
    "name": "sessionId",
    "in": "query",
    "required": False,
    "description": "By default the session of the request.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 128},
    "example": "ses_vzpeqxr5mxjrq2uy6ct3mlgw",
}
END_OPENAPI: Json = {
    "summary": "Sign out, or end another session of the caller",
    "description": f"It ends in every process within two seconds. {OWN_SITE}",
    "parameters": [_SESSION_PARAMETER],
    "responses": {
        "200": json_response("Ended.", schema_ref(GenericReturnBoolean)),
        **problem_responses(400, 401, 403, 404, 408, 413, 429, 431, 503),
    },
}
LINK_OPENAPI: Json = {
    "summary": "Mail a link to sign in, or show one",
    "description": "Mails a link that signs the user with this address in, once, within 15 minutes;"
    " the response is the same whether there is such a user or not. With `show` the link is in the"
    " response, for the caller to hand over: the caller, whose session must be younger than ten"
    " minutes (403, `session_not_fresh`), needs `member.write` in the group, where the user has"
    " accepted an invitation, and must hold everything that the user holds anywhere. The session"
    " that it begins changes no ways to sign in, whoever it is for.",
    "security": [],
    "parameters": [OWN_HEADER],
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": schema_ref(LinkInput),
                "example": {
                    "email": "ada@example.com",
                    "groupId": "880148294221312",
                    "show": True,
                },
            }
        },
    },
    "responses": {
        "200": json_response("Requested, or shown.", schema_ref(LinkReturn)),
        **problem_responses(400, 401, 403, 404, 408, 413, 415, 429, 431, 503),
    },
}
SETTINGS_OPENAPI: Json = {
    "summary": "Get what a page needs before signing in",
    "description": "The version, which ways to sign in there are, and the tiles of the map.",
    "security": [],
    "responses": {
        "200": json_response("The settings.", schema_ref(ConsoleSettings)),
        **problem_responses(408, 431),
    },
}
