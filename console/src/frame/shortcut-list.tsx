import { Dialog } from "~/ui/dialog";
import { COMMAND, activeShortcuts } from "~/ui/keys";

const IN_LISTS = [
  ["j, k", "Next and previous row"],
  ["x, Shift x", "Select a row, or up to this row"],
  ["Enter", "Open the row"],
  ["Esc", "Clear the selection, close"],
  [`${COMMAND} K`, "Find anything"],
  [`${COMMAND} Enter`, "Save the form"],
] as const;

export function ShortcutList({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
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
      <p className="ink-2">Single keys can be switched off in your account.</p>
    </Dialog>
  );
}
