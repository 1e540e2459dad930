// The secret of a link, which is in the fragment of its address: no request carries that.
import { useEffect, useState } from "react";
import { t } from "~/messages/app";

// Undefined until the address was looked at, null where it has none. A second link opened in the same
// tab changes the fragment alone.
export function useFragmentSecret(parse: (fragment: string) => string | null, keepsIt: boolean): string | null | undefined {
  const [secret, setSecret] = useState<string | null>();
  useEffect(() => {
    const take = () => {
      const found = parse(window.location.hash);
      if (found && !keepsIt) window.history.replaceState(window.history.state, "", window.location.pathname + window.location.search);
      setSecret((before) => found ?? before ?? null);
    };
    take();
    window.addEventListener("hashchange", take);
    return () => window.removeEventListener("hashchange", take);
  }, [parse, keepsIt]);
  return secret;
}

export const bearer = (secret: string) => ({ Authorization: t("BearerSecret", { secret }) });
