import type { ReactNode } from "react";
import { t } from "~/messages/ui";

export type Tone = "good" | "warn" | "bad" | "idle";

// Never colour alone: each tone has a shape of its own.
const SHAPES: Record<Tone, string> = { good: "✓", warn: "◆", bad: "▲", idle: "–" };

export function Pill({ tone, children, title }: { tone: Tone; children: ReactNode; title?: string | undefined }) {
  return (
    <span className={`pill pill-${tone}`} title={title}>
      <span aria-hidden="true">{SHAPES[tone]}</span> <span className="pill-text">{children}</span>
    </span>
  );
}

export type MessageKind = "data" | "event" | "geoloc" | "telemetry" | "alarm" | "registry";

export const KIND_LABELS: Record<MessageKind, string> = {
  data: "data",
  event: "event",
  geoloc: "geolocation",
  telemetry: "telemetry",
  alarm: "alarm",
  registry: t("changeOfDevice"),
};

export function KindLabel({ kind }: { kind: string }) {
  const label = kind in KIND_LABELS ? KIND_LABELS[kind as MessageKind] : kind;
  return (
    <span className="kind" data-kind={kind}>
      {label}
    </span>
  );
}
