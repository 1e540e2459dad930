import { Dialog } from "~/ui/dialog";
import { COMMAND, activeShortcuts } from "~/ui/keys";
import { t } from "~/messages/frame";

const IN_LISTS = [
  ["j, k", t("NextAndPreviousRow")],
  [t("xShiftX"), t("SelectRowOrUpToThis")],
  ["Enter", t("OpenRow")],
  [t("Esc"), t("ClearSelectionClose")],
  [`${COMMAND} K`, t("FindAnything")],
  [t("COMMANDEnter", { COMMAND }), t("SaveForm")],
] as const;

export function ShortcutList({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title={t("Keys")} onClose={onClose}>
      <table className="plain">
        <tbody>
          {activeShortcuts().map(({ key, label }) => (
            <tr key={key + label}>
              <td>
                <kbd>{key}</kbd>
              </td>
              <td>{label}</td>
            </tr>
          ))}
          {IN_LISTS.map(([key, label]) => (
            <tr key={key}>
              <td>
                <kbd>{key}</kbd>
              </td>
              <td>{label}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p className="ink-2">{t("SingleKeysCanBeSwitchedOff")}</p>
    </Dialog>
  );
}
