import type { ButtonHTMLAttributes, ReactNode } from "react";
import { useUnreachableReason } from "~/api/reachability";

// A link is a button within a text; a plain one looks as its own class says.
const CLASSES = {
  primary: "button button-primary",
  normal: "button button-normal",
  quiet: "button button-quiet",
  danger: "button button-danger",
  link: "link",
  plain: "",
} as const;

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: keyof typeof CLASSES;
  // Why it cannot be pressed at the moment: shown as its title, and the button stays focusable.
  disabledReason?: string | undefined;
  // Whether it changes something, which waits while the service is unreachable.
  writes?: boolean;
  children: ReactNode;
}

export function Button({ look = "normal", writes = look === "primary" || look === "danger", disabledReason, onClick, className = "", ...rest }: ButtonProps) {
  const reason = useUnreachableReason(writes) ?? disabledReason;
  const isDisabled = rest.disabled === true || reason !== undefined;
  return (
    <button
      type="button"
      {...rest}
      disabled={undefined}
      aria-disabled={isDisabled || undefined}
      title={reason ?? rest.title}
      className={`${CLASSES[look]} ${className}`}
      onClick={(event) => {
        if (isDisabled) event.preventDefault();
        else onClick?.(event);
      }}
    />
  );
}
