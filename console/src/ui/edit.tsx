// A form about something that is stored, and that somebody else may change meanwhile. It shows what is
// stored until something is typed; then it keeps to the version it began with, and whoever would save
// over a newer one sees both first.
import { useState, type ReactNode } from "react";
import { ApiProblem } from "~/api/client";
import { Button } from "./button";
import { ConflictDialog } from "./conflict-dialog";
import { Unsaved, useUnsaved } from "./drafts";
import { SubmissionError, WrongFields } from "./form";
import { sendByKeys } from "./keys";
import { useSubmission, type Submission } from "./submit";
import { showToast } from "./toast";
import { mergeForms, type VersionRow } from "./versions";
import { t } from "~/messages/ui";

interface Dated {
  updatedAt?: string | null | undefined;
}

interface Draft<Version, Form> {
  base: Version;
  form: Form;
  // What was stored here when the base was saved: the base goes before it until something newer is here.
  over?: Version;
}

export interface EditOptions<Version extends Dated, Form extends object> {
  stored: Version;
  formOf: (version: Version) => Form;
  // Sends the form. `before` is the version that it is saved over; if that is no longer stored, it is refused.
  put: (form: Form, before: Version) => Promise<Version>;
  // Sends an earlier version for an undo: as it was, which a form may show without its secrets.
  restore: (version: Version, before: Version) => Promise<Version>;
  // Whether two versions have the same of what the form changes; without it, whether their forms are the same.
  isSame?: (one: Version, other: Version) => boolean;
  // Asks the service for the version that is stored now.
  readNewest: () => Promise<Version>;
  // Whatever else shows this takes the version over.
  onStored: (version: Version) => Promise<unknown> | void;
  compare: (mine: Form, theirs: Form) => VersionRow[];
  savedText: string | ((saved: Version) => string);
  // Names on the wire of the fields that show themselves what is wrong with them.
  fields?: readonly string[];
  // False where fields depend on each other, so that one of mine and one of theirs make no sense.
  canMerge?: boolean;
}

export interface Edit<Form> {
  form: Form;
  isChanged: boolean;
  change: (part: Partial<Form>) => void;
  discard: () => void;
  // To be run by `submission`, which shows what was refused.
  save: () => Promise<void>;
  submission: Submission;
  // Both versions, while somebody has to choose.
  conflict: ReactNode;
}

function isEqual(one: object, other: object): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function isConflict(error: unknown): boolean {
  return error instanceof ApiProblem && error.code === "changed_meanwhile";
}

export function useEdit<Version extends Dated, Form extends object>(options: EditOptions<Version, Form>): Edit<Form> {
  const { stored, formOf, put, restore, readNewest } = options;
  const isSame = options.isSame ?? ((one, other) => isEqual(formOf(one), formOf(other)));
  const [draft, setDraft] = useState<Draft<Version, Form> | null>(null);
  const [theirs, setTheirs] = useState<Version | null>(null);
  const submission = useSubmission(options.fields);
  const isTyped = (one: Draft<Version, Form>) => !isEqual(one.form, formOf(one.base));
  const isChanged = draft !== null && isTyped(draft);
  const base = draft && (isChanged || draft.over === stored) ? draft.base : stored;
  const form = isChanged ? draft.form : formOf(base);
  useUnsaved(isChanged);
  // What was typed after it was sent stays.
  const adopt = async (version: Version, sent: Form) => {
    await options.onStored(version);
    setDraft((now) => ({ base: version, form: now ? mergeForms(sent, now.form, formOf(version)) : formOf(version), over: stored }));
  };
  const saveOver = async (before: Version, sent: Form): Promise<void> => {
    let saved: Version;
    try {
      saved = await put(sent, before);
    } catch (error) {
      if (!isConflict(error)) throw error;
      const newest = await readNewest();
      // They changed something that is not in this form, so that there is nothing to choose.
      if (newest.updatedAt !== before.updatedAt && isSame(newest, before)) return saveOver(newest, sent);
      setTheirs(newest);
      return;
    }
    await adopt(saved, sent);
    const text = options.savedText;
    showToast(typeof text === "string" ? text : text(saved), { action: { label: t("Undo"), run: () => undo(before, saved) } });
  };
  // Whatever else was changed since stays; what this form has changed has to be as it was saved.
  const undo = async (before: Version, saved: Version) => {
    let restored: Version;
    try {
      restored = await restore(before, saved);
    } catch (error) {
      const newest = isConflict(error) ? await readNewest() : null;
      if (!newest || !isSame(newest, saved)) throw error;
      restored = await restore(before, newest);
    }
    await adopt(restored, formOf(saved));
  };
  const discard = () => {
    setDraft(null);
    submission.reset();
  };
  const resolve = (version: Version, chosen: Form) => {
    setTheirs(null);
    setDraft({ base: version, form: chosen });
    void submission.run(() => saveOver(version, chosen));
  };
  return {
    form,
    isChanged,
    change: (part) =>
      setDraft((now) => {
        const from = now && isTyped(now) ? now : { base, form };
        return { base: from.base, form: { ...from.form, ...part } };
      }),
    discard,
    save: () => saveOver(base, form),
    submission,
    conflict: theirs && (
      <Conflict
        base={formOf(base)}
        mine={form}
        theirs={formOf(theirs)}
        changedAt={theirs.updatedAt}
        compare={options.compare}
        canMerge={options.canMerge !== false}
        onClose={() => setTheirs(null)}
        onTheirs={() => {
          setTheirs(null);
          discard();
          void options.onStored(theirs);
        }}
        onForm={(chosen) => resolve(theirs, chosen)}
      />
    ),
  };
}

function Conflict<Form extends object>({
  base,
  mine,
  theirs,
  changedAt,
  compare,
  canMerge,
  onClose,
  onTheirs,
  onForm,
}: {
  base: Form;
  mine: Form;
  theirs: Form;
  changedAt: string | null | undefined;
  compare: (mine: Form, theirs: Form) => VersionRow[];
  canMerge: boolean;
  onClose: () => void;
  onTheirs: () => void;
  onForm: (chosen: Form) => void;
}) {
  const merged = mergeForms(base, mine, theirs);
  const isOneOfThem = compare(merged, mine).length === 0 || compare(merged, theirs).length === 0;
  return (
    <ConflictDialog
      rows={compare(mine, theirs)}
      changedAt={changedAt}
      onClose={onClose}
      onTheirs={onTheirs}
      onMine={() => onForm(mine)}
      onMerged={isOneOfThem || !canMerge ? undefined : () => onForm(merged)}
    />
  );
}

export function DiscardButton({ edit }: { edit: Edit<object> }) {
  return (
    <Button onClick={edit.discard} disabledReason={edit.isChanged ? undefined : t("NothingIsChanged")}>
      {t("Discard")}
    </Button>
  );
}

export function EditForm({
  edit,
  submit = t("Save"),
  look = "primary",
  reason,
  className = "form",
  actionsClass = "",
  children,
}: {
  edit: Edit<object>;
  submit?: string;
  look?: "primary" | "normal";
  // Why what is typed cannot be saved yet.
  reason?: string | undefined;
  className?: string;
  actionsClass?: string;
  children: ReactNode;
}) {
  const { submission, isChanged } = edit;
  const wrong = submission.error ? 0 : (submission.problem?.fields.length ?? 0);
  const unsaveable = submission.isBusy ? t("OneMoment") : isChanged ? reason : t("NothingIsChanged");
  return (
    <>
      {/* For the dialog that it may stand in. */}
      <Unsaved isUnsaved={isChanged} />
      <form
        className={className}
        onSubmit={(event) => {
          event.preventDefault();
          if (!unsaveable) void submission.run(edit.save);
        }}
        onKeyDown={sendByKeys}
      >
        {children}
        <SubmissionError submission={submission} />
        <div className={`form-actions ${actionsClass}`}>
          <Button look={look} type="submit" writes disabledReason={unsaveable}>
            {submit}
          </Button>
          <DiscardButton edit={edit} />
          <WrongFields count={wrong} />
        </div>
      </form>
      {edit.conflict}
    </>
  );
}
