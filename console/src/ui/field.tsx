import { useId, useLayoutEffect, useRef, type InputHTMLAttributes, type ReactNode, type SelectHTMLAttributes, type TextareaHTMLAttributes } from "react";
import type { ApiProblem } from "~/api/client";

// The message of the service about one field, by the field's name on the wire.
export function fieldError(problem: ApiProblem | null, name: string): string | undefined {
  const found = problem?.fields.find((each) => each.field === name || each.field.startsWith(`${name}.`) || each.field.startsWith(`${name}[`));
  if (!found) return undefined;
  return found.field === name ? found.message : `${found.field}: ${found.message}`;
}

// The messages about several fields, if there are any.
export function fieldErrors(problem: ApiProblem | null, names: readonly string[]): string | undefined {
  return names.flatMap((name) => fieldError(problem, name) ?? []).join(" ") || undefined;
}

// Fields that are folded away, and unfolded when one of them has a value or an error.
export function MoreFields({
  summary,
  hasValue = false,
  error,
  refusal = null,
  children,
}: {
  summary: string;
  hasValue?: boolean;
  // What is wrong in any of them.
  error: string | undefined;
  // The last refusal to save, where errors are shown before that too: each unfolds what is wrong.
  refusal?: ApiProblem | null;
  children: ReactNode;
}) {
  const details = useRef<HTMLDetailsElement>(null);
  const unfold = () => {
    if (details.current) details.current.open = true;
  };
  // Only the reader folds it: emptying a secret to replace it does not, nor does mending an error.
  useLayoutEffect(() => {
    if (hasValue) unfold();
  }, [hasValue]);
  useLayoutEffect(() => {
    if (error) unfold();
  }, [error]);
  useLayoutEffect(() => {
    if (error && refusal) unfold();
  }, [refusal]);
  return (
    <details className="more-fields" ref={details}>
      <summary>{summary}</summary>
      <div className="form">{children}</div>
    </details>
  );
}

interface Described {
  label: ReactNode;
  hint?: ReactNode;
  error?: string | undefined;
}

function Frame({
  id,
  label,
  hint,
  error,
  children,
}: Described & { id: string; children: ReactNode }) {
  return (
    <div className={`field ${error ? "field-wrong" : ""}`}>
      <label htmlFor={id}>{label}</label>
      {children}
      {error && (
        <p className="field-error" id={`${id}-error`}>
          {error}
        </p>
      )}
      {hint && (
        <p className="field-hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

function describedBy(id: string, { hint, error }: Described): string | undefined {
  return [error && `${id}-error`, hint && `${id}-hint`].filter(Boolean).join(" ") || undefined;
}

export function TextField({ label, hint, error, ...rest }: Described & InputHTMLAttributes<HTMLInputElement>) {
  const id = useId();
  return (
    <Frame id={id} label={label} hint={hint} error={error}>
      <input className="input" id={id} aria-invalid={error ? true : undefined} aria-describedby={describedBy(id, { label, hint, error })} {...rest} />
    </Frame>
  );
}

export function TextArea({
  label,
  hint,
  error,
  isCode = false,
  ...rest
}: Described & { isCode?: boolean } & TextareaHTMLAttributes<HTMLTextAreaElement>) {
  const id = useId();
  return (
    <Frame id={id} label={label} hint={hint} error={error}>
      <textarea
        className={`input ${isCode ? "input-code" : ""}`}
        id={id}
        spellCheck={isCode ? false : undefined}
        aria-invalid={error ? true : undefined}
        aria-describedby={describedBy(id, { label, hint, error })}
        {...rest}
      />
    </Frame>
  );
}

export function Select({
  label,
  hint,
  error,
  options,
  ...rest
}: Described & { options: readonly (readonly [string, string])[] } & SelectHTMLAttributes<HTMLSelectElement>) {
  const id = useId();
  return (
    <Frame id={id} label={label} hint={hint} error={error}>
      <select className="input" id={id} aria-invalid={error ? true : undefined} aria-describedby={describedBy(id, { label, hint, error })} {...rest}>
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </Frame>
  );
}

export function Checkbox({ label, hint, ...rest }: { label: ReactNode; hint?: ReactNode } & InputHTMLAttributes<HTMLInputElement>) {
  const id = useId();
  return (
    <div className="check">
      <input type="checkbox" id={id} aria-describedby={hint ? `${id}-hint` : undefined} {...rest} />
      <label htmlFor={id}>{label}</label>
      {hint && (
        <p className="field-hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}
