import { Link, type ErrorComponentProps } from "@tanstack/react-router";
import { ErrorState } from "~/ui/state";
import { t } from "~/messages/frame";

export function NotFound() {
  return (
    <div className="state">
      <p>{t("ThereIsNoSuchPage")}</p>
      <Link to="/" className="button button-normal">
        {t("GoToStart")}
      </Link>
    </div>
  );
}

export function PageFailed({ error, reset }: ErrorComponentProps) {
  return <ErrorState error={error} onRetry={reset} />;
}
