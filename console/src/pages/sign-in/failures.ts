// Codes of refused sign-ins, in words for whoever reads them.
import { ApiProblem, Unreachable } from "~/api/client";

const WORDS: Readonly<Record<string, string>> = {
  not_authenticated: "That did not work: it is unknown, wrong or expired.",
  totp_required: "Enter the code of your authenticator app.",
  too_many_requests: "Too many attempts.",
  session_not_fresh: "Sign in again by yourself first: this is changed in the first ten minutes of a session only, and not by a link that was shown.",
  // Of an identity provider, in the address that it leads back to.
  access_denied: "The identity provider did not let you in.",
  provider_refused: "The identity provider refused the sign-in. Ask whoever runs this service.",
  provider_unavailable: "The identity provider cannot be reached. Try again later.",
  invalid_state: "The sign-in took too long, or began in another browser. Try again.",
  invalid_token: "The identity provider sent something that is not valid. Try again.",
  email_not_verified: "The identity provider does not vouch for your email address.",
  domain_not_allowed: "Your email address is not of a domain that may sign in here.",
  unknown_user: "Nobody here has your email address yet. Ask for an invitation.",
  other_subject: "Your email address belongs to another account of the identity provider.",
  too_many_attempts: "Too many attempts. Wait a minute, then try again.",
};

export function wordsForCode(code: string): string {
  return WORDS[code] ?? `Signing in failed (${code}).`;
}

export function wordsForError(error: unknown): string {
  if (error instanceof ApiProblem) return WORDS[error.code] ?? error.message;
  if (error instanceof Unreachable) return error.message;
  if (error instanceof DOMException) return wordsForAuthenticator(error);
  return "That did not work.";
}

function wordsForAuthenticator(error: DOMException): string {
  switch (error.name) {
    case "NotAllowedError":
    case "AbortError":
      return "No passkey was used. Try again, or sign in another way.";
    case "InvalidStateError":
      return "This device has a passkey of yours already.";
    case "SecurityError":
      return "Passkeys need HTTPS and a host name; on this machine, open localhost.";
    default:
      return error.message;
  }
}
