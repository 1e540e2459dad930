// Where to go after signing in. Only an address within the console: what stands in a link that
// somebody sent must not lead elsewhere.

export function nextPath(given: string | undefined): string {
  if (!given || !given.startsWith("/") || /^\/[/\\]/.test(given) || /[\u0000-\u001f\\]/.test(given)) return "/";
  return given.startsWith("/sign-in") ? "/" : given;
}

export type LinkPurpose = "link" | "mail" | "reset" | "token";

export interface SignInLink {
  purpose: LinkPurpose;
  secret: string;
}

// `#link=lwl_…` of the terminal, `#mail=…` and `#reset=…` of mails and links handed over, `#token=…`
// of an invitation.
export function parseLink(fragment: string): SignInLink | null {
  const found = /^#?(link|mail|reset|token)=([\w-]{8,})$/.exec(fragment);
  return found ? { purpose: found[1] as LinkPurpose, secret: found[2] ?? "" } : null;
}
