// By what reports are sent: as notifications are, by mail or to a webhook.
import type { Schemas } from "~/api/client";
import { fieldsOf, type FormField } from "~/pages/connectors/schema-form";
import { webhookFields } from "./form";
import { t } from "~/messages/reports";

type Type = Pick<Schemas["NotificationType"], "type" | "unavailable" | "expectedParameters">;

export function channelOf(types: readonly Type[], isOperator: boolean): { fields: readonly FormField[]; noMail: string | undefined } {
  const find = (name: string) => types.find((each) => each.type === name);
  const reason = find("email")?.unavailable;
  const noMail = reason && (isOperator ? t("NotAvailableReason", { reason }) : t("NotAvailableOnThisServiceIts"));
  return { fields: webhookFields(fieldsOf(find("webhook")?.expectedParameters ?? "")), noMail: noMail || undefined };
}
