// The way to every screen: sections of the group and those of everything, at the side, or on a phone five
// of them at the bottom and the others behind More. Only what the person may see.
import { useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { mayCall, useRights, type Rights } from "~/api/may";
import { overviewQuery } from "~/api/queries";
import { setPreference, usePreferences } from "~/preferences";
import { Dialog } from "~/ui/dialog";
import { GroupPicker, ScopeSwitch } from "./group-picker";
import { useHasGroupsBelow } from "./group-name";
import { Icon } from "./icons";
import { useScope } from "./page-state";
import { EVERYWHERE, GROUP_BLOCKS, maySee, phonePlaces, type Section } from "./sections";
import { t } from "~/messages/frame";

// What waits for somebody in a section: how many, and of what.
interface Note {
  readonly count: number;
  readonly words: string;
}

type Notes = Readonly<Record<string, Note | undefined>>;

const COUNT_MAX = 99;

function useNotes(groupId: string | null, rights: Rights, isKnown: boolean): Notes {
  const { withBelow } = useScope();
  const maySeeOverview = groupId !== null && isKnown && mayCall(rights, "GET /group/overview");
  const overview = useQuery({ ...overviewQuery(groupId ?? "", withBelow), enabled: maySeeOverview });
  const alarms = overview.data?.alarms?.total ?? 0;
  const failing = overview.data?.connectors?.failing ?? 0;
  return {
    Alarms: alarms > 0 ? { count: alarms, words: t("alarmsOpen", { alarms }) } : undefined,
    Connectors: failing > 0 ? { count: failing, words: t("failingFailing", { failing }) } : undefined,
  };
}

function SideLink({ section, groupId, note, isNarrow, onGo }: { section: Section; groupId: string | null; note: Note | undefined; isNarrow: boolean; onGo?: () => void }) {
  const name = note ? `${section.label}, ${note.words}` : section.label;
  return (
    <Link
      to={section.to}
      params={{ groupId: groupId ?? "" }}
      className="side-link"
      activeProps={{ "aria-current": "page" }}
      title={isNarrow ? name : undefined}
      aria-label={isNarrow ? name : undefined}
      onClick={onGo}
    >
      <Icon name={section.icon} />
      <span className="side-name">{section.label}</span>
      {note && (
        <span className="side-note" aria-hidden={isNarrow || undefined}>
          {isNarrow ? <NoteCount note={note} /> : note.words}
        </span>
      )}
    </Link>
  );
}

function NoteCount({ note }: { note: Note }) {
  return <>{note.count > COUNT_MAX ? `${COUNT_MAX}+` : note.count}</>;
}

interface PartsProps {
  groupId: string | null;
  rights: Rights & { isPending: boolean };
  notes: Notes;
  isNarrow: boolean;
  onGo?: () => void;
}

function Sections({ groupId, rights, notes, isNarrow, onGo }: PartsProps) {
  const hasBelow = useHasGroupsBelow(groupId);
  // All at once, and below the switch: what came one after the other would move the rest away from under a click.
  if (rights.isPending || hasBelow === null) return null;
  const show = (section: Section) => (
    <SideLink key={section.to} section={section} groupId={groupId} note={notes[section.label]} isNarrow={isNarrow} {...(onGo ? { onGo } : {})} />
  );
  const blocks = GROUP_BLOCKS.map((block) => block.filter((each) => maySee(each, groupId, rights))).filter((block) => block.length > 0);
  return (
    <>
      {blocks.length > 0 && (
        <div className="side-part" role="group" aria-label={t("ThisGroup")}>
          <h2 className="side-heading">{t("ThisGroup")}</h2>
          {blocks.map((block) => (
            <div key={block[0]?.to} className="side-block">
              {block.map(show)}
            </div>
          ))}
        </div>
      )}
      <div className="side-part" role="group" aria-label={t("Everywhere")}>
        <h2 className="side-heading">{t("Everywhere")}</h2>
        <div className="side-block">{EVERYWHERE.filter((each) => maySee(each, groupId, rights)).map(show)}</div>
      </div>
    </>
  );
}

function WidthButton({ isNarrow }: { isNarrow: boolean }) {
  const label = isNarrow ? t("Expand") : t("Collapse");
  return (
    <button type="button" className="side-width" aria-pressed={isNarrow} title={isNarrow ? label : undefined} aria-label={label} onClick={() => setPreference("side", isNarrow ? "wide" : "narrow")}>
      <Icon name={isNarrow ? "wider" : "narrower"} />
      <span className="side-name">{label}</span>
    </button>
  );
}

export function Side({ groupId }: { groupId: string | null }) {
  const rights = useRights(groupId);
  const notes = useNotes(groupId, rights, rights.isKnown);
  const isNarrow = usePreferences().side === "narrow";
  return (
    <nav className="side" aria-label={t("Sections")} data-narrow={isNarrow || undefined}>
      <Link to="/" className="brand">
        {isNarrow ? <span aria-label={t("longwire")}>{t("lw")}</span> : "longwire"}
      </Link>
      <GroupPicker groupId={groupId} isNarrow={isNarrow} />
      {!isNarrow && <ScopeSwitch groupId={groupId} />}
      <Sections groupId={groupId} rights={rights} notes={notes} isNarrow={isNarrow} />
      <WidthButton isNarrow={isNarrow} />
    </nav>
  );
}

// On a phone: five places, and More.
export function Places({ groupId }: { groupId: string | null }) {
  const rights = useRights(groupId);
  const notes = useNotes(groupId, rights, rights.isKnown);
  const [isOpen, setOpen] = useState(false);
  const places = rights.isPending ? [] : phonePlaces(groupId, rights);
  return (
    <nav className="places" aria-label={t("Sections")}>
      {places.map((section) => {
        const note = notes[section.label];
        return (
          <Link key={section.to} to={section.to} params={{ groupId: groupId ?? "" }} className="place" activeProps={{ "aria-current": "page" }} aria-label={note ? `${section.label}, ${note.words}` : section.label}>
            <Icon name={section.icon} />
            <span>{section.label}</span>
            {note && (
              <span className="place-note">
                <NoteCount note={note} />
              </span>
            )}
          </Link>
        );
      })}
      <button type="button" className="place" aria-haspopup="dialog" aria-expanded={isOpen} onClick={() => setOpen(true)}>
        <Icon name="more" />
        <span>{t("More")}</span>
      </button>
      {isOpen && (
        <Dialog title={t("Sections")} onClose={() => setOpen(false)}>
          <nav className="more" aria-label={t("AllSections")}>
            <Sections groupId={groupId} rights={rights} notes={notes} isNarrow={false} onGo={() => setOpen(false)} />
          </nav>
        </Dialog>
      )}
    </nav>
  );
}
