import type { FormEvent, FormHTMLAttributes, ReactNode } from "react";
import { Button } from "./button";
import { CopyButton } from "./copy";
import { useTyped } from "./drafts";
import { sendByKeys } from "./keys";
import type { Submission } from "./submit";
import { t } from "~/messages/ui";

export function SubmissionError({ submission }: { submission: Submission }) {
  if (!submission.error) return null;
  return (
    <p className="field-error" role="alert">
      {submission.error}{" "}
      {submission.problem?.requestId && (
        <>
          {t.rich("RequestCode", { code: <code>{submission.problem.requestId}</code> })} <CopyButton text={submission.problem.requestId} />
        </>
      )}
    </p>
  );
}

// How many fields say themselves what is wrong with them, beside the button that was pressed.
export function WrongFields({ count }: { count: number }) {
  if (count === 0) return null;
  return (
    <span className="field-error" role="alert">
      {t("countFieldsAreWrongNothingIs", { count })}
    </span>
  );
}

// A form that is sent by its button or by Ctrl Enter (⌘ Enter), shows what was refused, and is not
// left by mistake.
export function Form({
  submission,
  onSubmit,
  submit,
  children,
  extra,
  look = "primary",
  isDraft = look !== "danger",
}: {
  submission: Submission;
  onSubmit: () => Promise<void>;
  submit: string;
  children: ReactNode;
  extra?: ReactNode;
  look?: "primary" | "danger" | "normal";
  // Whether what is typed is worth asking before it is lost: a name that confirms a deletion is not.
  isDraft?: boolean;
}) {
  const typed = useTyped(submission.isBusy);
  const sendAll = async () => {
    await onSubmit();
    typed.forget();
  };
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (!submission.isBusy) void submission.run(sendAll);
  };
  return (
    <form className="form" onSubmit={send} onKeyDown={sendByKeys} onChange={isDraft ? typed.onChange : undefined}>
      {children}
      <SubmissionError submission={submission} />
      <div className="form-actions">
        <Button type="submit" look={look} writes disabledReason={submission.isBusy ? t("OneMoment") : undefined}>
          {submit}
        </Button>
        {extra}
      </div>
    </form>
  );
}

// A form whose button stands in the foot of its dialog.
export function DialogForm({ isBusy, ...rest }: { isBusy: boolean } & FormHTMLAttributes<HTMLFormElement>) {
  const typed = useTyped(isBusy);
  return <form className="form" {...rest} onChange={typed.onChange} />;
}
