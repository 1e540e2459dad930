// Two people at one form: both versions side by side, and whose is kept.
import { Button } from "./button";
import { Dialog } from "./dialog";
import { TimeText } from "./time-text";
import type { VersionRow } from "./versions";

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
      title="Somebody changed it meanwhile"
      width="wide"
      onClose={onClose}
      actions={
        <>
          <Button onClick={onTheirs}>Take theirs</Button>
          {onMerged && <Button writes onClick={onMerged}>Take both, mine where I changed it</Button>}
          <Button look="primary" onClick={onMine}>
            Save mine
          </Button>
        </>
      }
    >
      <p>
        It was changed <TimeText at={changedAt} withAgo /> while you edited it. Nothing of yours is saved yet.
      </p>
      <table className="plain versions">
        <thead>
          <tr>
            <th>Field</th>
            <th>Yours</th>
            <th>Saved by somebody else</th>
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
      {rows.length === 0 && <p className="ink-2">Both versions say the same.</p>}
    </Dialog>
  );
}
