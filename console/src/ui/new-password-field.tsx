import { TextField } from "./field";

export function NewPasswordField({ value, error, onChange, autoFocus = false }: {
  value: string;
  error?: string | undefined;
  onChange: (password: string) => void;
  autoFocus?: boolean;
}) {
  return (
    <TextField
      label="New password"
      hint="10 characters or more."
      type="password"
      autoComplete="new-password"
      minLength={10}
      maxLength={256}
      required
      autoFocus={autoFocus}
      error={error}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
