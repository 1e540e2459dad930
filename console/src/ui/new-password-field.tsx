import { TextField } from "./field";
import { t } from "~/messages/ui";

export function NewPasswordField({ value, error, onChange, autoFocus = false }: {
  value: string;
  error?: string | undefined;
  onChange: (password: string) => void;
  autoFocus?: boolean;
}) {
  return (
    <TextField
      label={t("NewPassword")}
      hint={t("n10CharactersOrMore")}
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
