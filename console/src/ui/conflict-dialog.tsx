// Two people at one form: both versions side by side, and whose is kept.
import { Button } from "./button";
import { Dialog } from "./dialog";
import { TimeText } from "./time-text";
import type { VersionRow } from "./versions";
import { t } from "~/messages/ui";

export function ConflictDialog({
  rows,
  changedAt,
  onMine,
  onTheirs,
  onMerged,
  onClose,
}: {
  rows: readonly VersionRow[];
  changedAt: string | null | undefined;
  onMine: () => void;
  onTheirs: () => void;
  // Where both changed different fields.
  onMerged?: (() => void) | undefined;
  onClose: () => void;
}) {
  return (
    <Dialog
      title={t("SomebodyChangedItMeanwhile")}
      width="wide"
      onClose={onClose}
      actions={
        <>
          <Button onClick={onTheirs}>{t("TakeTheirs")}</Button>
          {onMerged && <Button writes onClick={onMerged}>{t("TakeBothMineWhereIChanged")}</Button>}
          <Button look="primary" onClick={onMine}>
            {t("SaveMine")}
          </Button>
        </>
      }
    >
      <p>
        {t.rich("ItWasChangedTimeWhileYou", { time: <TimeText at={changedAt} withAgo /> })}
      </p>
      <table className="plain versions">
        <thead>
          <tr>
            <th>{t("Field")}</th>
            <th>{t("Yours")}</th>
            <th>{t("SavedBySomebodyElse")}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.label}>
              <th scope="row">{row.label}</th>
              <td>
                <code>{row.mine || "–"}</code>
              </td>
              <td>
                <code>{row.theirs || "–"}</code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length === 0 && <p className="ink-2">{t("BothVersionsSaySame")}</p>}
    </Dialog>
  );
}
