import type { ButtonHTMLAttributes, ReactNode } from "react";
import { AWAY_REASON, useAwaySince } from "~/api/away";

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: "primary" | "normal" | "quiet" | "danger";
  // Why it cannot be pressed at the moment: shown as its title, and the button stays focusable.
  disabledReason?: string | undefined;
  // Whether it changes something, which waits while the service is away.
  writes?: boolean;
  children: ReactNode;
}

export function Button({ look = "normal", writes = look === "primary" || look === "danger", disabledReason, onClick, className = "", ...rest }: ButtonProps) {
  const isAway = useAwaySince() !== null;
  const reason = writes && isAway ? AWAY_REASON : disabledReason;
  const isDisabled = rest.disabled === true || reason !== undefined;
  return (
    <button
      type="button"
      {...rest}
      disabled={undefined}
      aria-disabled={isDisabled || undefined}
      title={reason ?? rest.title}
      className={`button button-${look} ${className}`}
      onClick={(event) => {
        if (isDisabled) event.preventDefault();
        else onClick?.(event);
      }}
    />
  );
}
