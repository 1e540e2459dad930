// Leads to the page of the documents that fits the screen.
import { useMatches } from "@tanstack/react-router";
import { BASE_PATH } from "~/base-path";
import { helpOf } from "./help";
import { t } from "~/messages/frame";

export function useHelpUrl(): string {
  const path = useMatches({ select: (matches) => matches.at(-1)?.fullPath ?? "" });
  return `${BASE_PATH}/guide/${helpOf(path)}`;
}

// A phone has no room for it: there, the menu of the person leads to the same page.
export function HelpLink() {
  const url = useHelpUrl();
  return (
    <a className="button button-quiet help-link" href={url} target="_blank" rel="noopener" title={t("pageOfGuideAboutThisScreen")}>
      {t("Help")}
    </a>
  );
}
