// Leads to the page of the documents that fits the screen.
import { useMatches } from "@tanstack/react-router";
import { BASE_PATH } from "~/base-path";
import { helpOf } from "./help";

export function HelpLink() {
  const path = useMatches({ select: (matches) => matches.at(-1)?.fullPath ?? "" });
  return (
    <a className="button button-quiet help-link" href={`${BASE_PATH}/guide/${helpOf(path)}`} target="_blank" rel="noopener" title="The page of the guide about this screen">
      Help
    </a>
  );
}
