// Where the service is: at the root of its host, or below the path of its public URL. The service
// puts that path in front of the addresses of the built files. Whoever reaches it past the proxy
// is at the root, and so is what the page asks for.

export function basePathOf(script: string, page: string): string {
  const path = /^(.*)\/console\//.exec(script)?.[1] ?? "";
  return page.startsWith(`${path}/console`) ? path : "";
}

const isPage = typeof location !== "undefined";

export const BASE_PATH = isPage ? basePathOf(new URL(import.meta.url).pathname, location.pathname) : "";
export const CONSOLE_PATH = `${BASE_PATH}/console`;
// For commands that people copy.
export const SERVICE_URL = isPage ? location.origin + BASE_PATH : "";
