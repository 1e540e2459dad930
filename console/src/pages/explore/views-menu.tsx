// Saved views: opened, saved by a name, removed.
import { useState, type FormEvent } from "react";
import { useNavigate } from "@tanstack/react-router";
import { usePreferences } from "~/preferences";
import { parseSearch, stringifySearch, textParam } from "~/search";
import { Button } from "~/ui/button";
import { TextField } from "~/ui/field";
import { Popover } from "~/ui/menu";
import { exploreSearch } from "./search";
import { parseViews, removeView, saveView, type SavedView } from "./views";
import { t } from "~/messages/explore";

const NAME_MAX = 60;

export function ViewsMenu({ groupId }: { groupId: string }) {
  const navigate = useNavigate();
  const { views: text } = usePreferences();
  const [name, setName] = useState("");
  const views = parseViews(text).filter((each) => each.groupId === groupId);
  const open = ({ search }: SavedView) => {
    const raw = parseSearch(search);
    const shared = { from: textParam(raw, "from"), to: textParam(raw, "to"), tz: textParam(raw, "tz") };
    void navigate({ to: "/g/$groupId/explore", params: { groupId }, search: { ...exploreSearch(raw), ...shared } as object });
  };
  const save = (event: FormEvent) => {
    event.preventDefault();
    if (!name.trim()) return;
    saveView({ groupId, name: name.trim(), search: stringifySearch(parseSearch(window.location.search)) });
    setName("");
  };
  return (
    <Popover label={<>{t.rich("ViewsValuePart", { value: views.length > 0 && ` (${views.length})`, part: <span aria-hidden="true">⌄</span> })}</>}>
      {(close) => (
        <div className="views">
          {views.length > 0 && (
            <ul className="views-list">
              {views.map((each) => (
                <li key={each.name}>
                  <button
                    type="button"
                    className="menu-item"
                    onClick={() => {
                      close();
                      open(each);
                    }}
                  >
                    {each.name}
                  </button>
                  <button type="button" className="view-remove" aria-label={t("RemoveViewName", { name: each.name })} onClick={() => removeView(each)}>
                    ×
                  </button>
                </li>
              ))}
            </ul>
          )}
          <form className="views-form" onSubmit={save}>
            <TextField label={t("SaveWhatIsShownAs")} value={name} maxLength={NAME_MAX} onChange={(event) => setName(event.target.value)} />
            <Button type="submit">{t("Save")}</Button>
          </form>
          <p className="field-hint">{t("ViewsAreKeptInThisBrowser")}</p>
        </div>
      )}
    </Popover>
  );
}
