// One hub for all tabs of the browser.
import { Hub } from "./hub";
import type { ToHub } from "./protocol";

declare const self: SharedWorkerGlobalScope;

const hub = new Hub({ fetch: self.fetch.bind(self), now: Date.now });

self.onconnect = (connection) => {
  const port = connection.ports[0];
  if (!port) return;
  port.onmessage = ({ data }: MessageEvent<ToHub>) => {
    // A tab that crashes cannot say so, but it cannot hold its lock either.
    if (data.type === "lock") void self.navigator.locks.request(data.name, () => hub.leave(port));
    else hub.receive(port, data);
  };
};
