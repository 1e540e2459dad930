// Contact points are chosen by name: several for a notification.
import { useId } from "react";
import { Link } from "@tanstack/react-router";
import { Popover } from "~/ui/menu";
import { nameOr } from "~/ui/name";
import { useContactPoints } from "./queries";
import { t } from "~/messages/contacts";

const CONTACT_POINTS_MAX = 20;

export function ContactPointsField({ groupId, label, hint, error, ids, onChange }: {
  groupId: string;
  label: string;
  hint: string;
  error: string | undefined;
  ids: readonly string[];
  onChange: (ids: readonly string[]) => void;
}) {
  const id = useId();
  const { all, nameOf } = useContactPoints(groupId);
  const others = all.filter((each) => !ids.includes(each.id));
  return (
    <div className={`field ${error ? "field-wrong" : ""}`} role="group" aria-labelledby={`${id}-label`} aria-describedby={`${id}-hint`}>
      <span className="field-label" id={`${id}-label`}>
        {label}
      </span>
      <div className="chips">
        {ids.map((each) => (
          <button key={each} type="button" className="chip" aria-label={t("RemoveEach", { each: nameOf(each) })} title={each} onClick={() => onChange(ids.filter((other) => other !== each))}>
            {nameOf(each)} <span aria-hidden="true">×</span>
          </button>
        ))}
        {others.length > 0 && ids.length < CONTACT_POINTS_MAX && (
          <Popover label={<>{ids.length === 0 ? t("ChooseContactPoint") : t("AddContactPoint")} <span aria-hidden="true">⌄</span></>}>
            {(close) => (
              <div className="menu">
                {others.map((each) => (
                  <button
                    key={each.id}
                    type="button"
                    className="menu-item"
                    onClick={() => {
                      onChange([...ids, each.id]);
                      close();
                    }}
                  >
                    {nameOr(each.name, each.id)} <span className="ink-3">{each.type}</span>
                  </button>
                ))}
              </div>
            )}
          </Popover>
        )}
      </div>
      {error && <p className="field-error">{error}</p>}
      <p className="field-hint" id={`${id}-hint`}>
        {all.length > 0 ? (
          hint
        ) : (
          <>
            {t.rich("ThereAreNoneYetLink", { link: <Link to="/g/$groupId/contact-points/new" params={{ groupId }}>
              {t("CreateContactPoint")}
            </Link> })}
          </>
        )}
      </p>
    </div>
  );
}
