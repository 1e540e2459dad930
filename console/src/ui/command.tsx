// A command for a terminal: folded, and copied as it is shown.
import { CopyButton } from "./copy";
import { t } from "~/messages/ui";

export function Command({ text }: { text: string }) {
  return (
    <div className="command">
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} label={t("Copy")} />
    </div>
  );
}
