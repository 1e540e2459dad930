import { textParam, type RawSearch } from "~/search";

export interface SignInSearch {
  next?: string | undefined;
  // A code of an identity provider that refused.
  error?: string | undefined;
}

export function signInSearch(search: RawSearch): SignInSearch {
  const error = textParam(search, "error");
  return { next: textParam(search, "next"), error: error && /^[a-z_]{1,40}$/.test(error) ? error : undefined };
}
