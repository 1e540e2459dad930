import { CONSOLE_PATH } from "./base-path";
import { api, read } from "./api/client";
import { queryClient } from "./api/queries";
import { forgetDrafts, hasDrafts } from "./ui/drafts";
import { t } from "./messages/ui";

// Everything the page knows is dropped with the session. Once that has ended, nobody is asked whether to
// stay, so it is asked before.
export async function signOut(): Promise<void> {
  if (hasDrafts() && !window.confirm(t("WhatYouTypedIsNotSaved"))) return;
  await read(api.DELETE("/session", {}));
  forgetDrafts();
  queryClient.clear();
  window.location.assign(`${CONSOLE_PATH}/sign-in`);
}
