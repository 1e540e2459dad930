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
  const { isAll, lookedAt, matches, estimatedMatches } = found;
  const numberOf = (value: number) => (isAll ? value.toLocaleString(LOCALE) : t("aboutNumber", { number: value }));
  const count = numberOf(estimatedMatches);
  const looked = isAll ? t("countRecords", { count: lookedAt }) : t("moreThanCountRecords", { count: lookedAt });
  const share = matches ? found.sentBefore / matches : 0;
  const before = isAll ? found.sentBefore : Math.round(share * estimatedMatches);
  return {
    count,
    records: t("recordsNumberPass", { records: looked, count: estimatedMatches, number: count }),
    before: before ? t("numberWereSentBefore", { count: before, number: numberOf(before) }) : "",
  };
}
