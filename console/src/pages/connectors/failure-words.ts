// What a failure means, and what somebody can do about it.
import type { Schemas } from "~/api/client";

type Failure = Pick<Schemas["ConnectorFailure"], "code" | "status">;

const BY_CODE: Readonly<Record<string, string>> = {
  unreachable: "Nothing answers at this address. See whether the receiver runs, and whether the address is right.",
  timed_out: "The receiver does not answer in time. It may be overloaded, or a firewall drops what is sent to it.",
  tls_failed: "The connection cannot be secured. The certificate of the receiver may have expired, or be of another name.",
  egress_denied: "The operator of this service does not allow connections to this address.",
  login_rejected: "The receiver does not accept the credentials of this connector. They are changed under Edit.",
  limit_exceeded: "The receiver sends back more than it may, or the delivery is larger than it accepts.",
  gone: "The receiver has said that it wants nothing more.",
  not_configured: "The settings of this connector are not complete. They are changed under Edit.",
  invalid_message: "The record cannot be written in the format of this connector. The format is changed under Edit.",
  quota_used_up: "The group has used up its quota.",
  orphaned: "A process of this service ended while it was sending.",
  stopped: "This service was stopped while it was sending.",
  internal_error: "Something went wrong in this service. Its operator finds the reason in the log.",
};

export function adviceOf({ code, status }: Failure): string {
  if (status === 401 || status === 403) return "The receiver does not accept the credentials of this connector. They are changed under Edit.";
  if (status === 404 || status === 405) return "The receiver knows no such address. The URL is changed under Edit.";
  if (status === 413) return "The delivery is larger than the receiver accepts.";
  if (status === 429) return "The receiver gets more than it wants. A limit of requests in a second is set under Edit.";
  if (status && status >= 500) return "The receiver answers, and cannot accept anything now. It has to be mended there.";
  if (status && status >= 400) return "The receiver does not accept what is sent. Its response may say why.";
  if (status && status >= 300) return "The receiver sends to another address, which is not followed. The URL is changed under Edit.";
  return BY_CODE[code ?? ""] ?? "";
}
