// Says when the service cannot be reached. What was loaded stays readable, and nothing is offered that
// would change something.
import { useEffect, useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { noteUnreachable, noteReachable, useUnreachableSince } from "~/api/reachability";
import { Unreachable } from "~/api/client";
import { BASE_PATH } from "~/base-path";
import { duration } from "~/time";
import { t } from "~/messages/frame";

const WAITS_MS = [1_000, 2_000, 5_000, 10_000] as const;

async function isReachable(): Promise<boolean> {
  try {
    return (await fetch(`${BASE_PATH}/health/live`, { cache: "no-store" })).ok;
  } catch {
    return false;
  }
}

function useDetection(): void {
  const client = useQueryClient();
  const since = useUnreachableSince();
  useEffect(
    () =>
      client.getQueryCache().subscribe((event) => {
        if (event.type === "updated" && event.action.type === "error" && event.action.error instanceof Unreachable) noteUnreachable();
      }),
    [client],
  );
  useEffect(() => {
    window.addEventListener("offline", noteUnreachable);
    return () => {
      window.removeEventListener("offline", noteUnreachable);
      noteReachable(); // without a frame nobody would find out
    };
  }, []);
  useEffect(() => {
    if (since === null) return;
    let attempt = 0;
    let timer: ReturnType<typeof setTimeout>;
    const ask = async () => {
      if (await isReachable()) {
        noteReachable();
        void client.invalidateQueries();
        return;
      }
      timer = setTimeout(ask, WAITS_MS[Math.min(attempt++, WAITS_MS.length - 1)]);
    };
    timer = setTimeout(ask, WAITS_MS[0]);
    return () => clearTimeout(timer);
  }, [since, client]);
}

export function OfflineBar() {
  useDetection();
  const since = useUnreachableSince();
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (since === null) return;
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [since]);
  if (since === null) return null;
  return (
    <div className="offline" role="alert">
      {t("serviceCannotBeReachedWhatYou", { duration: duration(Math.max(0, now - since)) })}
    </div>
  );
}
