import { differencesOf, type Fields } from "./diff-data";
import { t } from "~/messages/ui";
import "./diff.css";

const MASK = "********";

// An entry has the fields that changed: one that is the same on both sides changed where it is masked.
function maskedFields(before: Fields, after: Fields): string[] {
  return Object.keys(after).filter((name) => JSON.stringify(after[name]).includes(MASK) && differencesOf({ [name]: before[name] }, { [name]: after[name] }).length === 0);
}

// What changed, with what was there above what is there now.
export function Diff({ before, after, omitted }: { before: Fields | null | undefined; after: Fields | null | undefined; omitted?: readonly string[] | null | undefined }) {
  const differences = differencesOf(before, after);
  const masked = maskedFields(before ?? {}, after ?? {});
  return (
    <>
      {differences.length > 0 && (
        <dl className="diff">
          {differences.map((each) => (
            <div key={each.field}>
              <dt>{each.field}</dt>
              <dd>
                {each.before !== null && (
                  <del>
                    <span aria-hidden="true">− </span>
                    {each.before || "(empty)"}
                  </del>
                )}
                {each.after !== null && (
                  <ins>
                    <span aria-hidden="true">+ </span>
                    {each.after || "(empty)"}
                  </ins>
                )}
              </dd>
            </div>
          ))}
        </dl>
      )}
      {masked.length > 0 && <p className="ink-2">{t("ChangedWhereItIsMaskedValue", { value: masked.join(", ") })}</p>}
      {omitted?.length ? <p className="ink-2">{t("ChangedAsWellTooLargeTo", { value: omitted.join(", ") })}</p> : null}
    </>
  );
}
