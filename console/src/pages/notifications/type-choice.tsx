// How something is sent: one card for each type, with what the operator has not set up.
import type { Schemas } from "~/api/client";
import { Card } from "~/ui/page";
import { t } from "~/messages/notifications";

// What is to be set is for the operator to know.
function unavailableWords(reason: string, isOperator: boolean): string {
  return isOperator ? t("NotAvailableReason", { reason }) : t("NotAvailableOnThisServiceIts");
}

export function TypeChoice({ title, label, types, hints, chosen, isOperator, onChoose }: {
  title: string;
  label: string;
  types: readonly Pick<Schemas["NotificationType"], "type" | "name" | "unavailable">[];
  hints: Readonly<Record<string, string>>;
  chosen: string | undefined;
  isOperator: boolean;
  onChoose: (type: string) => void;
}) {
  return (
    <Card title={title}>
      <div className="type-cards" role="group" aria-label={label}>
        {types.map((each) => (
          <button key={each.type} type="button" className="type-card" aria-pressed={each.type === chosen} disabled={Boolean(each.unavailable)} onClick={() => onChoose(each.type)}>
            <strong>{each.name ?? each.type}</strong>
            <span>{each.unavailable ? unavailableWords(each.unavailable, isOperator) : (hints[each.type] ?? each.type)}</span>
          </button>
        ))}
      </div>
    </Card>
  );
}
