// The one place that says how the stream is; a press pauses it or goes on.
import { useEffect, useState } from "react";
import { mayCall, useRights } from "~/api/may";
import { retryLive } from "~/live/connection";
import { paused, setPaused, usePaused } from "~/live/pause";
import type { StreamState } from "~/live/protocol";
import { useLiveState } from "~/live/use-live";
import { useShortcuts } from "~/ui/keys";
import { useGroupId } from "./page-state";

interface Appearance {
  readonly tone: "good" | "idle" | "warn";
  readonly sign: string;
  readonly words: string;
  readonly title: string;
  // Only its sign is shown: all is well, or will be in a moment.
  readonly isQuiet?: boolean;
}

function secondsSince(since: number): number {
  return Math.max(0, Math.round((Date.now() - since) / 1_000));
}

function appearanceOf(state: StreamState | null, isPaused: boolean): Appearance {
  if (state === null) return { tone: "idle", sign: "–", words: "off", title: "Nothing to listen to here" };
  if (state.is === "refused") return { tone: "idle", sign: "–", words: "off", title: state.refusal.detail };
  if (state.is === "reconnecting") {
    const words = `reconnecting, ${secondsSince(state.since)} s`;
    return { tone: "warn", sign: "◌", words, title: "The stream broke off; it goes on where it was. Press to try now" };
  }
  if (isPaused) return { tone: "idle", sign: "○", words: "paused", title: "Lists hold still, and collect what arrives. Press to go on (p)" };
  if (state.is === "connecting") return { tone: "idle", sign: "◌", words: "connecting", title: "The stream is being opened", isQuiet: true };
  return { tone: "good", sign: "●", words: "live", title: "What arrives and changes is shown at once. Press to pause (p)", isQuiet: true };
}

export function LiveIndicator() {
  const groupId = useGroupId();
  const rights = useRights(groupId);
  const mayListen = groupId !== null && rights.isKnown && mayCall(rights, "GET /live");
  const state = useLiveState(mayListen ? groupId : null);
  const isPaused = usePaused();
  const [, setTick] = useState(0);
  const isReconnecting = state?.is === "reconnecting";
  useEffect(() => {
    if (!isReconnecting) return;
    const timer = setInterval(() => setTick((tick) => tick + 1), 1_000);
    return () => clearInterval(timer);
  }, [isReconnecting]);
  useShortcuts([{ key: "p", label: "Pause, or go on", run: () => setPaused(!paused()) }]);
  const { tone, sign, words, title, isQuiet } = appearanceOf(state, isPaused);
  const press = () => {
    if (isReconnecting || state?.is === "refused") retryLive();
    else setPaused(!isPaused);
  };
  return (
    <button type="button" className={`live-indicator pill pill-${tone}`} title={title} aria-label={`Live updates: ${words}`} onClick={press}>
      <span aria-hidden="true">{sign}</span> <span className={isQuiet ? "visually-hidden" : "live-words"}>{words}</span>
    </button>
  );
}
