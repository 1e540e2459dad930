// What can go wrong. Two questions matter to whoever catches an error: can the request succeed later
// (`isTemporary`), and may it have been carried out although there was no answer (`mayHaveHappened`)?

/** One invalid field of a request. */
export interface Fault {
  /** `body` or `query`. */
  readonly in: string;
  /** As in the request: `name`, `tags[3]`, `items[3].timestamp`. */
  readonly field: string;
  readonly message: string;
}

/** The base of every error of this package. */
export class LongwireError extends Error {
  readonly isTemporary: boolean = false;
  readonly mayHaveHappened: boolean = false;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The request was sent, or could not be: its response did not arrive. fetch does not say which. */
export class ResponseLost extends LongwireError {
  override readonly isTemporary = true;
  override readonly mayHaveHappened = true;
}

/** A success whose body is no JSON. */
export class InvalidResponse extends LongwireError {
  override readonly mayHaveHappened = true;
}

export interface ErrorDetails {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly faults: readonly Fault[];
  readonly requestId: string;
  readonly retryAfterS: number | null;
}

/** The service refused the request, or failed. */
export class ApiError extends LongwireError implements ErrorDetails {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly faults: readonly Fault[];
  readonly requestId: string;
  readonly retryAfterS: number | null;

  constructor(given: ErrorDetails) {
    super(`${given.status} ${given.code}: ${given.detail}`);
    this.status = given.status;
    this.code = given.code;
    this.detail = given.detail;
    this.faults = given.faults;
    this.requestId = given.requestId;
    this.retryAfterS = given.retryAfterS;
  }
}

/** A field or parameter is invalid: `faults` names every one. */
export class BadInput extends ApiError {}
/** The token or the client is unknown, revoked or expired. */
export class NotAuthenticated extends ApiError {}
/** The object is visible, but the permission is missing. */
export class NotAllowed extends ApiError {}
/** There is no such object, or the caller may not see it. */
export class NotFound extends ApiError {}
/** It conflicts with the current state. */
export class Conflict extends ApiError {}
/** The object was changed after `ifUpdatedAt`; nothing was changed. */
export class ChangedMeanwhile extends Conflict {}
/** A limit of the operator is reached. */
export class LimitReached extends Conflict {}
/** The body, or the head, is too large. */
export class TooLarge extends ApiError {}
/** A rate limit; `retryAfterS` says when to try again. */
export class TooManyRequests extends ApiError {
  override readonly isTemporary = true;
}
/** The service cannot do it now; nothing was changed. */
export class Unavailable extends ApiError {
  override readonly isTemporary = true;
}
/** The service, or a proxy before it, failed midway: it may have been carried out. */
export class OutcomeUnknown extends ApiError {
  override readonly isTemporary = true;
  override readonly mayHaveHappened = true;
}
/** An internal error; report the `requestId` to the operator. */
export class ServerFailed extends ApiError {
  override readonly mayHaveHappened = true;
}

type Kind = new (given: ErrorDetails) => ApiError;

const BY_CODE: Readonly<Record<string, Kind>> = {
  changed_meanwhile: ChangedMeanwhile,
  limit_reached: LimitReached,
  outcome_unknown: OutcomeUnknown,
  request_timeout: Unavailable,
};
const BY_STATUS: Readonly<Record<number, Kind>> = {
  400: BadInput,
  401: NotAuthenticated,
  403: NotAllowed,
  404: NotFound,
  408: Unavailable,
  409: Conflict,
  413: TooLarge,
  429: TooManyRequests,
  431: TooLarge,
  500: ServerFailed,
  503: Unavailable,
};

function parseObject(text: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === "object" && parsed !== null ? (parsed as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** The error for a response that is no success. */
export function errorOf(response: Response, text: string): ApiError {
  const { status, headers } = response;
  const retryAfter = Number(headers.get("Retry-After") ?? NaN);
  const common = {
    status,
    retryAfterS: Number.isFinite(retryAfter) ? Math.max(0, retryAfter) : null,
    requestId: headers.get("X-Request-Id") ?? "",
  };
  const problem = parseObject(text);
  if (!(headers.get("Content-Type") ?? "").startsWith("application/problem+json")) {
    if ("error" in problem) {
      // The token endpoint, by RFC 6749.
      const detail = String(problem["error_description"] ?? "");
      return new (BY_STATUS[status] ?? ApiError)({ ...common, code: String(problem["error"]), detail, faults: [] });
    }
    // Of something between us and the service, which cannot say whether anything was changed.
    const kind = [502, 503, 504].includes(status) ? OutcomeUnknown : (BY_STATUS[status] ?? ApiError);
    return new kind({ ...common, code: "not_from_the_service", detail: text.slice(0, 200).trim(), faults: [] });
  }
  const code = String(problem["code"] ?? "");
  return new (BY_CODE[code] ?? BY_STATUS[status] ?? ApiError)({
    ...common,
    code,
    detail: String(problem["detail"] ?? ""),
    faults: Array.isArray(problem["errors"]) ? (problem["errors"] as Fault[]) : [],
    requestId: String(problem["requestId"] ?? common.requestId),
  });
}
