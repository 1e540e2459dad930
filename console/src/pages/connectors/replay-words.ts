import type { Schemas } from "~/api/client";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/connectors";

export interface EstimateWords {
  readonly count: string;
  readonly records: string;
  readonly before: string;
}

// "4,310 records, 3,902 match"; "3,838 were sent before and would go out again under their old ids".
export function estimateWords(found: Schemas["ReplayPreview"]): EstimateWords {
  const about = found.isAll ? "" : "about ";
  const count = `${about}${found.estimatedMatches.toLocaleString(LOCALE)}`;
  const looked = `${found.isAll ? "" : `${t("moreThan")} `}${found.lookedAt.toLocaleString(LOCALE)} ${t("records", { count: found.lookedAt })}`;
  const share = found.matches ? found.sentBefore / found.matches : 0;
  const before = found.isAll ? found.sentBefore : Math.round(share * found.estimatedMatches);
  return {
    count,
    records: `${looked}, ${count} ${t("pass", { count: found.estimatedMatches })}`,
    before: before ? `${about}${before.toLocaleString(LOCALE)} ${t("wereSentBeforeAndWouldGo", { count: before })}` : "",
  };
}
