import type { FormEvent, ReactNode } from "react";
import { Button } from "./button";
import { CopyButton } from "./copy";
import { sendByKeys } from "./keys";
import type { Submission } from "./submit";

export function SubmissionError({ submission }: { submission: Submission }) {
  if (!submission.error) return null;
  return (
    <p className="field-error" role="alert">
      {submission.error}{" "}
      {submission.problem?.requestId && (
        <>
          Request <code>{submission.problem.requestId}</code> <CopyButton text={submission.problem.requestId} />
        </>
      )}
    </p>
  );
}

// A form that is sent by its button or by Ctrl Enter (⌘ Enter), and shows what was refused.
export function Form({
  submission,
  onSubmit,
  submit,
  children,
  extra,
  look = "primary",
}: {
  submission: Submission;
  onSubmit: () => Promise<void>;
  submit: string;
  children: ReactNode;
  extra?: ReactNode;
  look?: "primary" | "danger" | "normal";
}) {
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (!submission.isBusy) void submission.run(onSubmit);
  };
  return (
    <form className="form" onSubmit={send} onKeyDown={sendByKeys}>
      {children}
      <SubmissionError submission={submission} />
      <div className="form-actions">
        <Button type="submit" look={look} writes disabledReason={submission.isBusy ? "One moment" : undefined}>
          {submit}
        </Button>
        {extra}
      </div>
    </form>
  );
}
