// What became of a report last, in a word and with its cause.
import { bytes } from "~/pages/platform/exposition";
import { Pill } from "~/ui/pill";
import type { Report } from "./queries";
import { STOPPED_MEANS, runTone, runWords } from "./summary";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/reports";

export type Run = NonNullable<Report["lastRun"]>;

export function RunPill({ run }: { run: Run }) {
  return (
    <Pill tone={runTone(run)} title={causeOf(run)}>
      {runWords(run)}
    </Pill>
  );
}

export function causeOf(run: Run): string | undefined {
  return run.error ?? (run.state === "stopped" ? STOPPED_MEANS : undefined);
}

// "96 rows, 4.1 kB", of a file that was made.
export function sizeWords({ rows, bytes: size }: Pick<Run, "rows" | "bytes">): string | undefined {
  return size === 0 ? undefined : `${rows.toLocaleString(LOCALE)} ${t("rows", { count: rows })}, ${bytes(size)}`;
}

export function missedWords({ missed }: Pick<Run, "missed">): string {
  if (missed === 0) return "";
  return t("countEarlierOnesWereDueWhile", { count: missed });
}
