import type { ButtonHTMLAttributes, ReactNode } from "react";

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: "primary" | "normal" | "quiet" | "danger";
  // Why it cannot be pressed at the moment: shown as its title, and the button stays focusable.
  disabledReason?: string | undefined;
  children: ReactNode;
}

export function Button({ look = "normal", disabledReason, onClick, className = "", ...rest }: ButtonProps) {
  const isDisabled = rest.disabled === true || disabledReason !== undefined;
  return (
    <button
      type="button"
      {...rest}
      disabled={undefined}
      aria-disabled={isDisabled || undefined}
      title={disabledReason ?? rest.title}
      className={`button button-${look} ${className}`}
      onClick={(event) => {
        if (isDisabled) event.preventDefault();
        else onClick?.(event);
      }}
    />
  );
}
