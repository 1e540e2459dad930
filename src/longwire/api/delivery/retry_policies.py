"""How often and when a connector retries, as it is sent and shown."""

from collections.abc import Collection, Mapping
from typing import Annotated

from msgspec import UNSET, Meta, field

from longwire.api.replies import Shown
from longwire.delivery import retry_policy
from longwire.delivery.connectors import connectors
from longwire.model import Channel
from longwire.web.fields import CheckedBody, Clearable


class RetryPolicy(Shown[Channel]):
    """How often a delivery is retried, and the delay between attempts in seconds."""

    retry_delay_s: int | None = field(default=None, name="retryDelay")
    retries_max: int | None = field(default=None, name="maxRetry")
    delays: (
        Annotated[
            list[int],
            Meta(
                description="Seconds before each retry, in place of the other two.",
                examples=[[30, 300, 1_500]],
            ),
        ]
        | None
    ) = None


RetryDelay = Annotated[int, Meta(ge=1, le=retry_policy.RETRY_DELAY_MAX_S)]


class RetryPolicyInput(CheckedBody):
    """How often a delivery is retried, and the delay between attempts in seconds.

    Either `retryDelay` and `maxRetry`, or `delays`.
    """

    retry_delay: RetryDelay | None = None
    max_retry: Annotated[int, Meta(ge=0, le=retry_policy.RETRIES_MAX)] | None = None
    delays: (
        Annotated[
            list[RetryDelay],
            Meta(
                max_length=retry_policy.RETRIES_MAX,
                description="Seconds before each retry; as many retries as there are delays.",
                examples=[[30, 300, 1_500]],
            ),
        ]
        | None
    ) = None

    @classmethod
    def check_members(cls, given: Collection[str]) -> Mapping[str, str]:
        others = ("retryDelay", "maxRetry")
        if "delays" not in given:
            return {
                name: "is required, unless there are delays" for name in others if name not in given
            }
        wrong = [name for name in others if name in given]
        why = "send either delays, or retryDelay and maxRetry"
        return dict.fromkeys([*wrong, "delays"] if wrong else [], why)


RetryPolicyChange = Annotated[
    RetryPolicyInput | Annotated[str, Meta(max_length=0)],
    Meta(
        description="How to retry; an empty string restores the default.",
        examples=[{"retryDelay": 60, "maxRetry": 5}],
    ),
]


def build_retry_draft(given: Clearable[RetryPolicyInput | str]) -> connectors.RetryDraft | None:
    if given is UNSET:
        return None
    if isinstance(given, RetryPolicyInput):
        return connectors.RetryDraft(given.retry_delay, given.max_retry, given.delays)
    return connectors.RetryDraft()


def show_retry_policy(channel: Channel) -> RetryPolicy | None:
    """None for the default."""
    if channel.retries_max is None:
        return None
    if channel.retry_delay_s is not None:
        return RetryPolicy.show(channel, delays=None)
    return RetryPolicy.show(channel, retries_max=None, delays=list(channel.retry_delays))
