// The one place that says how the stream is; a press pauses it or goes on.
import { useEffect, useState } from "react";
import { mayCall, useRights } from "~/api/may";
import { retryLive } from "~/live/connection";
import { paused, setPaused, usePaused } from "~/live/pause";
import type { StreamState } from "~/live/protocol";
import { useLiveState } from "~/live/use-live";
import { useShortcuts } from "~/ui/keys";
import { useGroupId } from "./page-state";
import { t } from "~/messages/frame";

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
  if (state === null) return { tone: "idle", sign: "–", words: "off", title: t("NothingToListenToHere") };
  if (state.is === "refused") return { tone: "idle", sign: "–", words: "off", title: state.refusal.detail };
  if (state.is === "reconnecting") {
    const words = t("reconnectingSinceS", { since: secondsSince(state.since) });
    return { tone: "warn", sign: "◌", words, title: t("streamBrokeOffItGoesOn") };
  }
  if (isPaused) return { tone: "idle", sign: "○", words: "paused", title: t("ListsHoldStillAndCollectWhat") };
  if (state.is === "connecting") return { tone: "idle", sign: "◌", words: "connecting", title: t("streamIsBeingOpened"), isQuiet: true };
  return { tone: "good", sign: "●", words: "live", title: t("WhatArrivesAndChangesIsShown"), isQuiet: true };
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
  useShortcuts([{ key: "p", label: t("PauseOrGoOn"), run: () => setPaused(!paused()) }]);
  const { tone, sign, words, title, isQuiet } = appearanceOf(state, isPaused);
  const press = () => {
    if (isReconnecting || state?.is === "refused") retryLive();
    else setPaused(!isPaused);
  };
  return (
    <button type="button" className={`live-indicator pill pill-${tone}`} title={title} aria-label={t("LiveUpdatesWords", { words })} onClick={press}>
      <span aria-hidden="true">{sign}</span> <span className={isQuiet ? "visually-hidden" : "live-words"}>{words}</span>
    </button>
  );
}
