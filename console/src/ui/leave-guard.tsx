// Stands once around all screens: leaving one whose forms have something unsaved asks first, in a dialog
// of ours; closing or reloading the page asks in the browser's.
import { useBlocker } from "@tanstack/react-router";
import { LeaveDialog } from "./dialog";
import { hasDrafts, isLeft, useHasDrafts } from "./drafts";

export function LeaveGuard() {
  const isUnsaved = useHasDrafts();
  const blocker = useBlocker({
    shouldBlockFn: ({ current, next }) => hasDrafts() && isLeft(current, next),
    enableBeforeUnload: hasDrafts,
    disabled: !isUnsaved,
    withResolver: true,
  });
  if (blocker.status !== "blocked") return null;
  return <LeaveDialog onStay={blocker.reset} onLeave={blocker.proceed} />;
}
