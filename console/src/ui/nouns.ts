// What screens and lists are about: a sentence of its own for each, since grammar differs by language.
import { t } from "~/messages/ui";

// Where a thing is not there, or not the reader's to see.
export const NO_SUCH = {
  thing: t("NoSuchThing"),
  group: t("NoSuchGroup"),
  catalogue: t("NoSuchCatalogue"),
  device: t("NoSuchDevice"),
  deviceType: t("NoSuchDeviceType"),
  deviceOfThisType: t("NoSuchDeviceOfThisType"),
  record: t("NoSuchRecord"),
  delivery: t("NoSuchDelivery"),
  exchange: t("NoSuchExchange"),
  connector: t("NoSuchConnector"),
  notification: t("NoSuchNotification"),
  contactPoint: t("NoSuchContactPoint"),
  report: t("NoSuchReport"),
  job: t("NoSuchJob"),
} as const;
export type Noun = keyof typeof NO_SUCH;

export type ListNoun = "connector" | "notification" | "contactPoint" | "report";

interface ListWords {
  readonly title: string;
  readonly search: string;
  // `total` is what is written: there may be more than were counted.
  count(values: { count: number; total: string }): string;
  countFound(values: { count: number; found: number; total: string }): string;
}

export const LISTS: Readonly<Record<ListNoun, ListWords>> = {
  connector: {
    title: t("Connectors"),
    search: t("SearchConnectors"),
    count: (values) => t("totalConnectors", values),
    countFound: (values) => t("foundConnectors", values),
  },
  notification: {
    title: t("Notifications"),
    search: t("SearchNotifications"),
    count: (values) => t("totalNotifications", values),
    countFound: (values) => t("foundNotifications", values),
  },
  contactPoint: {
    title: t("ContactPoints"),
    search: t("SearchContactPoints"),
    count: (values) => t("totalContactPoints", values),
    countFound: (values) => t("foundContactPoints", values),
  },
  report: {
    title: t("Reports"),
    search: t("SearchReports"),
    count: (values) => t("totalReports", values),
    countFound: (values) => t("foundReports", values),
  },
};
