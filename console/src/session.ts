import { CONSOLE_PATH } from "./base-path";
import { api, read } from "./api/client";
import { queryClient } from "./api/queries";

// Everything the page knows is dropped with the session.
export async function signOut(): Promise<void> {
  await read(api.DELETE("/session", {}));
  queryClient.clear();
  window.location.assign(`${CONSOLE_PATH}/sign-in`);
}
