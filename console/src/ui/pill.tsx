import type { ReactNode } from "react";

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

export type RecordKind = "data" | "event" | "geoloc" | "telemetry";

export const KIND_LABELS: Record<RecordKind, string> = {
  data: "data",
  event: "event",
  geoloc: "geolocation",
  telemetry: "telemetry",
};

export function KindLabel({ kind }: { kind: string }) {
  const label = kind in KIND_LABELS ? KIND_LABELS[kind as RecordKind] : kind;
  return (
    <span className="kind" data-kind={kind}>
      {label}
    </span>
  );
}
