// A write that is on its way is not sent a second time: who presses twice gets the one answer twice.

type Fetch = (request: Request) => Promise<Response>;

const READS = new Set(["GET", "HEAD"]);

function isAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

export function fetchingOnce(fetch: Fetch): Fetch {
  const inFlight = new Map<string, Promise<Response>>();
  return async (request) => {
    if (READS.has(request.method)) return fetch(request);
    const key = `${request.method} ${request.url} ${await request.clone().text()}`;
    const sent = inFlight.get(key);
    if (sent)
      try {
        return (await sent).clone();
      } catch (error) {
        // The other one was called off, this one was not.
        if (!isAborted(error) || request.signal.aborted) throw error;
        return fetch(request);
      }
    const sending = fetch(request).finally(() => inFlight.delete(key));
    inFlight.set(key, sending);
    return (await sending).clone();
  };
}
