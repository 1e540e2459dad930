// Codes of refused sign-ins, in words for whoever reads them.
import { ApiProblem, Unreachable } from "~/api/client";
import { t } from "~/messages/sign-in";

const WORDS: Readonly<Record<string, string>> = {
  not_authenticated: t("ThatDidNotWorkItIs"),
  totp_required: t("EnterCodeOfYourAuthenticatorApp"),
  too_many_requests: t("TooManyAttempts"),
  session_not_fresh: t("SignInAgainByYourselfFirst"),
  // Of an identity provider, in the address that it leads back to.
  access_denied: t("identityProviderDidNotLetYou"),
  provider_refused: t("identityProviderRefusedSignInAsk"),
  provider_unavailable: t("identityProviderCannotBeReachedTry"),
  invalid_state: t("signInTookTooLongOr"),
  invalid_token: t("identityProviderSentSomethingThatIs"),
  email_not_verified: t("identityProviderDoesNotVouchFor"),
  domain_not_allowed: t("YourEmailAddressIsNotOf"),
  unknown_user: t("NobodyHereHasYourEmailAddress"),
  other_subject: t("YourEmailAddressBelongsToAnother"),
  too_many_attempts: t("TooManyAttemptsWaitMinuteThen"),
};

export function wordsForCode(code: string): string {
  return WORDS[code] ?? t("SigningInFailedCode", { code });
}

export function wordsForError(error: unknown): string {
  if (error instanceof ApiProblem) return WORDS[error.code] ?? error.message;
  if (error instanceof Unreachable) return error.message;
  if (error instanceof DOMException) return wordsForAuthenticator(error);
  return t("ThatDidNotWork");
}

function wordsForAuthenticator(error: DOMException): string {
  switch (error.name) {
    case "NotAllowedError":
    case "AbortError":
      return t("NoPasskeyWasUsedTryAgain");
    case "InvalidStateError":
      return t("ThisDeviceHasPasskeyOfYours");
    case "SecurityError":
      return t("PasskeysNeedHTTPSAndHostName");
    default:
      return error.message;
  }
}
