import { useState } from "react";
import { t } from "~/messages/ui";

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

// Drawn, because not every system has a letter for it.
function CopyIcon() {
  return (
    <svg aria-hidden="true" width="12" height="12" viewBox="0 0 12 12" fill="none" stroke="currentColor">
      <rect x="0.5" y="3.5" width="8" height="8" rx="1.5" />
      <path d="M3.5 3.5v-1.5a1.5 1.5 0 0 1 1.5-1.5h5a1.5 1.5 0 0 1 1.5 1.5v5a1.5 1.5 0 0 1-1.5 1.5h-1.5" />
    </svg>
  );
}

export function CopyButton({ text, label = t("Copy") }: { text: string; label?: string }) {
  const [state, setState] = useState<"idle" | "copied" | "failed">("idle");
  const words = { idle: label, copied: t("Copied"), failed: t("CannotCopy") }[state];
  return (
    <button
      type="button"
      className="copy"
      aria-label={`${label}: ${text.length > 60 ? `${text.slice(0, 60)}…` : text}`}
      onClick={async (event) => {
        event.stopPropagation();
        setState((await copyText(text)) ? "copied" : "failed");
        setTimeout(() => setState("idle"), 1_500);
      }}
    >
      <CopyIcon /> <span aria-live="polite">{state === "idle" && label === "Copy" ? "" : words}</span>
    </button>
  );
}

// The middle of a long id is left out; all of it is in the title and in the copy.
export function shortId(id: string): string {
  return id.length > 18 ? `${id.slice(0, 10)}…${id.slice(-5)}` : id;
}

export function IdText({ id }: { id: string }) {
  return (
    <span className="id">
      <code title={id}>{shortId(id)}</code>
      <CopyButton text={id} />
    </span>
  );
}
