// What stands around every screen: sections at the side, search, range, zone and live above.
import { useEffect, useRef, useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { Outlet, useNavigate, useParams } from "@tanstack/react-router";
import { ApiProblem, onIgnored, onRefused, onSignedOut, reportSignedOut } from "~/api/client";
import { groupQuery, queryClient, sessionQuery } from "~/api/queries";
import { retryLive } from "~/live/connection";
import { preferences, setPreference, usePreferences } from "~/preferences";
import { forgetDrafts } from "~/ui/drafts";
import { LeaveGuard } from "~/ui/leave-guard";
import { Menu } from "~/ui/menu";
import { ErrorState } from "~/ui/state";
import { Toasts, dropHeld, newestAction, runAction, showToast } from "~/ui/toast";
import { useShortcuts } from "~/ui/keys";
import { zoneLabel } from "~/time";
import { signOut } from "~/session";
import { GroupPicker } from "./group-picker";
import { HelpLink, useHelpUrl } from "./help-link";
import { Icon } from "./icons";
import { InvitationBar } from "./invitation-bar";
import { LiveIndicator } from "./live-indicator";
import { OfflineBar } from "./offline-bar";
import { Palette, openPalette } from "./palette";
import { RangePicker } from "./range-picker";
import { SECTIONS, type Section } from "./sections";
import { ShortcutList } from "./shortcut-list";
import { Places, Side } from "./side";
import { SignedOutDialog } from "./signed-out-dialog";
import { useHasNoSide } from "./narrow";
import { preferredScope, useGroupId, useRange, useZone } from "./page-state";
import { shiftRange } from "~/time";
import { t } from "~/messages/frame";

function initials(name: string): string {
  const words = name.split(/[\s@.]+/).filter(Boolean);
  return words.slice(0, 2).map((word) => word[0]?.toUpperCase() ?? "").join("") || "?";
}

function PersonMenu() {
  const session = useQuery(sessionQuery);
  const navigate = useNavigate();
  const helpUrl = useHelpUrl();
  const user = session.data?.user;
  const name = user?.name ?? user?.email ?? "";
  return (
    <Menu
      label={<span aria-label={t("SignedInAsName", { name })}>{initials(name)}</span>}
      items={[
        { label: t("Account"), writes: false, onSelect: () => void navigate({ to: "/account" }) },
        { label: t("Documentation"), writes: false, onSelect: () => void window.open(helpUrl, "_blank", "noopener") },
        { label: t("SignOut"), writes: true, onSelect: () => void signOut() },
      ]}
    />
  );
}

function ZoneButton() {
  const zone = useZone();
  const { zone: chosen } = usePreferences();
  const flip = () => setPreference("zone", chosen === "UTC" ? "" : "UTC");
  return (
    <button type="button" className="button button-normal zone" onClick={flip} title={t("SwitchBetweenYourZoneAndUTC")}>
      {zoneLabel(zone)}
    </button>
  );
}

function useFrameShortcuts(groupId: string | null, showKeys: () => void): void {
  const navigate = useNavigate();
  const { range, setRange } = useRange();
  const [isGoing, setGoing] = useState(false);
  const go = (section: Section) => {
    setGoing(false);
    if (groupId) void navigate({ to: section.to, params: { groupId } });
  };
  const sections = SECTIONS.filter((each) => each.key).map((each) => ({
    key: each.key ?? "",
    label: `g ${each.key}: ${each.label}`,
    run: () => go(each),
  }));
  useEffect(() => {
    if (!isGoing) return;
    const timer = setTimeout(() => setGoing(false), 1_500);
    return () => clearTimeout(timer);
  }, [isGoing]);
  useShortcuts([
    ...(isGoing ? sections : []),
    { key: "g", label: t("GoToSectionByLetter"), run: () => setGoing(true) },
    { key: "/", label: t("FindAnything"), run: openPalette },
    { key: "?", label: t("ThisList"), run: showKeys },
    { key: "u", label: t("YourZoneOrUTC"), run: () => setPreference("zone", preferences().zone === "UTC" ? "" : "UTC") },
    { key: "[", label: t("Earlier"), run: () => setRange(shiftRange(range, Date.now(), -1)) },
    { key: "]", label: t("Later"), run: () => setRange(shiftRange(range, Date.now(), 1)) },
    { key: "z", label: t("Undo"), run: () => runAction(newestAction()) },
  ]);
}

// A page of another version than the service says so, instead of losing what was typed in silence.
function useIgnoredNames(): void {
  useEffect(() => onIgnored((names) => void showToast(t("serviceDoesNotKnowAndHas", { names }), { tone: "bad" })), []);
}

const RIGHTS_MS = 5_000;

// Somebody's role was changed while they looked: a refusal asks for their rights again, so that what
// they may not do any more goes away.
function useFreshRights(): void {
  useEffect(() => {
    let askedAt = 0;
    return onRefused(() => {
      if (Date.now() - askedAt < RIGHTS_MS) return;
      askedAt = Date.now();
      void queryClient.invalidateQueries({ queryKey: ["group"] });
      void queryClient.invalidateQueries({ queryKey: sessionQuery.queryKey });
    });
  }, []);
}

// All tabs share the session. Where it has become somebody else's, nothing of the one before stays:
// neither what they saw, nor what they were about to send.
function useSamePerson(): void {
  const { data: session } = useQuery(sessionQuery);
  const id = session?.user.id;
  const first = useRef(id);
  useEffect(() => {
    first.current ??= id;
    if (id !== undefined && id !== first.current) {
      // Nobody may stay with it, so that nobody is asked.
      forgetDrafts();
      dropHeld();
      window.location.reload();
    }
    if (session === null) reportSignedOut();
  }, [id, session]);
}

// Why there is nothing to show of the group in the address, or null. The group that was opened last is
// kept for screens that belong to none, also if its page is left before the service has answered. If
// there is no such group, the one before is kept.
function useUnknownGroup(groupId: string | null, addressed: string | undefined): ApiProblem | null {
  const group = useQuery({ ...groupQuery(groupId ?? ""), enabled: groupId !== null });
  const problem = group.error instanceof ApiProblem && group.error.status === 404 ? group.error : null;
  const known = useRef(preferences().lastGroup);
  const isKnown = group.data !== undefined;
  useEffect(() => {
    if (isKnown && groupId) known.current = groupId;
    if (problem && known.current === groupId) known.current = "";
    if (problem) setPreference("lastGroup", known.current);
    else if (addressed) setPreference("lastGroup", addressed);
  }, [groupId, addressed, isKnown, problem]);
  return addressed ? problem : null;
}

// A page of no group, opened by its address, has the scope that the person chose last. The address of
// a page of a group says it itself.
function usePreferredScope(addressed: string | undefined): void {
  const navigate = useNavigate();
  useEffect(() => {
    const { own } = preferredScope();
    if (own && !addressed) void navigate({ to: ".", search: (before: object) => ({ ...before, own }), replace: true } as never);
  }, []); // eslint-disable-line react-hooks/exhaustive-deps
}

export function Frame() {
  const groupId = useGroupId();
  const params = useParams({ strict: false }) as { groupId?: string };
  const [isSignedOut, setSignedOut] = useState(false);
  const [showsKeys, setShowsKeys] = useState(false);
  useFrameShortcuts(groupId, () => setShowsKeys(true));
  useEffect(() => onSignedOut(() => setSignedOut(true)), []);
  useFreshRights();
  useIgnoredNames();
  useSamePerson();
  usePreferredScope(params.groupId);
  const hasNoSide = useHasNoSide();
  const side = usePreferences().side;
  const unknown = useUnknownGroup(groupId, params.groupId);
  return (
    <div className="frame" data-side={side}>
      <a href="#page" className="skip">
        {t("SkipToPage")}
      </a>
      {!hasNoSide && <Side groupId={groupId} />}
      <div className="main">
        <header className="top">
          {hasNoSide && <GroupPicker groupId={groupId} isNarrow />}
          <button type="button" className="find" onClick={openPalette}>
            <Icon name="find" />
            <span>
              {t("Find")}
              <span className="find-what"> {t("orDoAnything")}</span>
            </span>{" "}
            <kbd>/</kbd>
          </button>
          <div className="top-right">
            <RangePicker />
            <ZoneButton />
            <LiveIndicator />
            <HelpLink />
            <PersonMenu />
          </div>
        </header>
        <OfflineBar />
        <main id="page" className="page" tabIndex={-1}>
          {params.groupId && !unknown && <InvitationBar groupId={params.groupId} />}
          {unknown ? <ErrorState error={unknown} noun="group" /> : <Outlet />}
        </main>
      </div>
      {hasNoSide && <Places groupId={groupId} />}
      <Toasts />
      <Palette />
      <LeaveGuard />
      {showsKeys && <ShortcutList onClose={() => setShowsKeys(false)} />}
      {isSignedOut && (
        <SignedOutDialog
          onSignedIn={() => {
            setSignedOut(false);
            void queryClient.invalidateQueries();
            retryLive();
          }}
        />
      )}
    </div>
  );
}
