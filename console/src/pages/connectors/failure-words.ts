// What a failure means, and what somebody can do about it.
import type { Schemas } from "~/api/client";
import { t } from "~/messages/connectors";

type Failure = Pick<Schemas["ConnectorFailure"], "code" | "status">;

const BY_CODE: Readonly<Record<string, string>> = {
  unreachable: t("NothingAnswersAtThisAddressSee"),
  timed_out: t("receiverDoesNotAnswerInTime"),
  tls_failed: t("connectionCannotBeSecuredCertificateOf"),
  egress_denied: t("operatorOfThisServiceDoesNot"),
  login_rejected: t("receiverDoesNotAcceptCredentialsOf"),
  limit_exceeded: t("receiverSendsBackMoreThanIt"),
  gone: t("receiverHasSaidThatItWants"),
  not_configured: t("settingsOfThisConnectorAreNot"),
  invalid_message: t("recordCannotBeWrittenInFormat"),
  quota_used_up: t("groupHasUsedUpItsQuota"),
  orphaned: t("processOfThisServiceEndedWhile"),
  stopped: t("ThisServiceWasStoppedWhileIt"),
  internal_error: t("SomethingWentWrongInThisService"),
};

export function adviceOf({ code, status }: Failure): string {
  if (status === 401 || status === 403) return t("receiverDoesNotAcceptCredentialsOf");
  if (status === 404 || status === 405) return t("receiverKnowsNoSuchAddressURL");
  if (status === 413) return t("deliveryIsLargerThanReceiverAccepts");
  if (status === 429) return t("receiverGetsMoreThanItWants");
  if (status && status >= 500) return t("receiverAnswersAndCannotAcceptAnything");
  if (status && status >= 400) return t("receiverDoesNotAcceptWhatIs");
  if (status && status >= 300) return t("receiverSendsToAnotherAddressWhich");
  return BY_CODE[code ?? ""] ?? "";
}
