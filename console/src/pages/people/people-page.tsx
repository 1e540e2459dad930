// Who may do what in a group: its own members, and those who have a role through a group above.
import "./people.css";
import { useState } from "react";
import { useInfiniteQuery, useQueries, useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { useUnreachableReason } from "~/api/reachability";
import { CONSOLE_HEADERS, api, read, type Schemas } from "~/api/client";
import { mayCall, useRights, type Rights } from "~/api/may";
import { groupQuery, queryClient, sessionQuery } from "~/api/queries";
import { usePageActions } from "~/ui/actions";
import { Button } from "~/ui/button";
import { CopyButton } from "~/ui/copy";
import { Dialog } from "~/ui/dialog";
import { Select, TextField } from "~/ui/field";
import { Form } from "~/ui/form";
import { Menu, type MenuItem } from "~/ui/menu";
import { PageHeader } from "~/ui/page";
import { Pill } from "~/ui/pill";
import { Empty, QueryView } from "~/ui/state";
import { useSubmission } from "~/ui/submit";
import { TimeText } from "~/ui/time-text";
import { hold, showToast } from "~/ui/toast";
import { Locked } from "~/ui/why";
import { rolesQuery } from "~/pages/roles/queries";
import { wordsForError } from "~/pages/sign-in/failures";
import { nameOr } from "~/ui/name";
import { grantable, isLastAdministrator } from "./grants";
import { WhatMay } from "./what-may";
import { t } from "~/messages/people";

type Member = Schemas["PublicUser"];
type Role = Schemas["Role"];
type Sent = Schemas["GroupUserRelation"];
const route = getRouteApi("/frame/g/$groupId/people");
const LIMIT = 200;
type Question = "may" | "link" | "invitation";

function membersQuery(groupId: string) {
  return {
    queryKey: ["members", groupId],
    queryFn: ({ signal, pageParam }: { signal: AbortSignal; pageParam: string | undefined }) =>
      read(api.GET("/group/users", { params: { query: { groupId, limit: LIMIT, ...(pageParam && { nextToken: pageParam }) } }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page: Schemas["UserConnection"]) => page.nextToken ?? undefined,
  };
}

function nameOf(member: Member): string {
  return member.name ?? member.email ?? member.id ?? "somebody";
}

async function setRole(groupId: string, member: Member, role: Role): Promise<void> {
  const before = member.role;
  const report = (error: unknown) => {
    showToast((error as Error).message, { tone: "bad" });
    void queryClient.invalidateQueries({ queryKey: ["members", groupId] });
  };
  // Each change is based on the one before it, so that nobody else's is overwritten.
  let basedOn = member.membershipUpdatedAt;
  const put = async (roleId: string) => {
    const changed = await read(api.PUT("/group/user", { body: { groupId, userId: member.id ?? "", roleId, ifUpdatedAt: basedOn } }));
    basedOn = changed.updatedAt;
    await queryClient.invalidateQueries({ queryKey: ["members", groupId] });
  };
  try {
    await put(role.id);
    showToast(t("memberIsNameNow", { member: nameOf(member), name: role.name }), before ? { action: { label: t("Undo"), run: () => put(before.id).catch(report) } } : {});
  } catch (error) {
    report(error);
  }
}

// Where no mail can be sent, whoever invites hands the link over.
function InvitationDialog({ sent, email, onClose }: { sent: Sent; email: string; onClose: () => void }) {
  return (
    <Dialog title={t("emailIsInvited", { email })} onClose={onClose}>
      <p>
        {sent.mail === "not_configured"
          ? t("ThisServiceSendsNoMailSo")
          : t("ThisServiceSendsNoMailTo")}
      </p>
      {sent.invitationUrl ? (
        <>
          <p>{t("SendThemThisLinkPrivatelyIt")}</p>
          <pre>{sent.invitationUrl}</pre>
          <CopyButton text={sent.invitationUrl} label={t("CopyLink")} />
        </>
      ) : (
        <p>{t("SignInYourselfAndInviteThem")}</p>
      )}
    </Dialog>
  );
}

function Invite({ groupId, roles, onClose }: { groupId: string; roles: readonly Role[]; onClose: () => void }) {
  const [email, setEmail] = useState("");
  const [roleId, setRoleId] = useState(roles.find((role) => role.name === "Viewer")?.id ?? roles[0]?.id ?? "");
  const [sent, setSent] = useState<Sent | null>(null);
  const submission = useSubmission(["email", "roleId"]);
  const invite = async () => {
    const done = await read(api.PUT("/group/invite", { body: { groupId, email, roleId } }));
    await queryClient.invalidateQueries({ queryKey: ["members", groupId] });
    if (done.mail !== "queued" && done.mail !== "accepted") {
      setSent(done);
      return;
    }
    showToast(done.mail === "queued" ? t("emailIsInvitedByMail", { email }) : t("emailIsMemberAlready", { email }));
    onClose();
  };
  if (sent) return <InvitationDialog sent={sent} email={email} onClose={onClose} />;
  return (
    <Dialog title={t("InviteSomebody")} onClose={onClose}>
      <Form submission={submission} onSubmit={invite} submit={t("Invite")}>
        <TextField label={t("Email")} type="email" required autoFocus value={email} error={submission.errorOf("email")} onChange={(event) => setEmail(event.target.value)} />
        <Select
          label={t("Role")}
          hint={t("OnlyRolesThatHoldNoMore")}
          value={roleId}
          error={submission.errorOf("roleId")}
          options={roles.map((role) => [role.id, role.name] as const)}
          onChange={(event) => setRoleId(event.target.value)}
        />
      </Form>
    </Dialog>
  );
}

function LinkDialog({ url, name, onClose }: { url: string; name: string; onClose: () => void }) {
  return (
    <Dialog title={t("linkThatSignsNameIn", { name })} onClose={onClose}>
      <p>{t("ItWorksOnceWithin15Minutes")}</p>
      <pre>{url}</pre>
      <CopyButton text={url} label={t("CopyLink")} />
    </Dialog>
  );
}

function MemberRow({
  member,
  groupId,
  rights,
  roles,
  lock,
  onAsk,
  onRemove,
}: {
  member: Member;
  groupId: string;
  rights: Rights;
  roles: readonly Role[];
  lock: string | undefined;
  onAsk: (member: Member, what: Question) => void;
  onRemove: (member: Member) => void;
}) {
  const unreachable = useUnreachableReason();
  const mayWrite = mayCall(rights, "PUT /group/user");
  // Of those who have not accepted yet, only the address is known.
  const isInvited = !member.seenAt && !member.name;
  const isHeldByMe = !member.role || roles.some((role) => role.id === member.role?.id);
  const reason = lock ?? (isHeldByMe ? undefined : t("TheirRoleHoldsMoreThanYours"));
  const items: MenuItem[] = [
    { label: t("WhatMayMemberDoHere", { member: nameOf(member) }), writes: false, onSelect: () => onAsk(member, "may") },
    ...(mayWrite
      ? [
          isInvited
            ? { label: t("InviteAgain"), writes: true, onSelect: () => onAsk(member, "invitation") }
            : { label: t("CopySignInLink"), writes: true, onSelect: () => onAsk(member, "link") },
          { label: t("RemoveFromGroup"), writes: true, look: "danger" as const, disabledReason: reason, onSelect: () => onRemove(member) },
        ]
      : []),
  ];
  return (
    <tr>
      <td>
        <strong>{nameOf(member)}</strong>
        {member.name && <div className="ink-2">{member.email}</div>}
      </td>
      <td data-label={t("Role")}>
        {mayWrite && reason === undefined ? (
          <select
            className="input"
            aria-label={t("RoleOfMember", { member: nameOf(member) })}
            disabled={unreachable !== undefined}
            title={unreachable}
            value={member.role?.id ?? ""}
            onChange={(event) => {
              const chosen = roles.find((role) => role.id === event.target.value);
              if (chosen) void setRole(groupId, member, chosen);
            }}
          >
            {roles.map((role) => (
              <option key={role.id} value={role.id}>
                {role.name}
              </option>
            ))}
          </select>
        ) : (
          <span title={reason}>
            {member.role?.name ?? "–"} {reason && <span className="ink-2">({reason})</span>}
          </span>
        )}
      </td>
      <td data-label={t("LastSeen")}>
        {isInvited ? <Pill tone="idle">{t("invited")}</Pill> : <TimeText at={member.seenAt} precision="minute" withAgo />}
      </td>
      <td className="row-actions row-menu">
        <Menu label={<span aria-label={t("ActionsForMember", { member: nameOf(member) })}>⋯</span>} look="quiet" items={items} />
      </td>
    </tr>
  );
}

// The groups above, nearest first.
function useGroupsAbove(groupId: string): Schemas["Group"][] {
  const own = useQuery(groupQuery(groupId));
  const parent = useQuery({ ...groupQuery(own.data?.parent ?? ""), enabled: Boolean(own.data?.parent), retry: false });
  const grandparent = useQuery({ ...groupQuery(parent.data?.parent ?? ""), enabled: Boolean(parent.data?.parent), retry: false });
  return [parent.data, grandparent.data].filter((each) => each !== undefined);
}

function Above({ groupId }: { groupId: string }) {
  const above = useGroupsAbove(groupId);
  const members = useQueries({
    queries: above.map((group) => ({
      queryKey: ["members-above", group.id],
      queryFn: ({ signal }: { signal: AbortSignal }) => read(api.GET("/group/users", { params: { query: { groupId: group.id, limit: LIMIT } }, signal })),
      retry: false,
    })),
  });
  const rows = above.flatMap((group, index) => (members[index]?.data?.items ?? []).map((member) => ({ group, member })));
  if (rows.length === 0) return null;
  return (
    <tbody className="people-above">
      {rows.map(({ group, member }) => (
        <tr key={`${group.id} ${member.id}`}>
          <td>
            {nameOf(member)}
            {member.name && <div>{member.email}</div>}
          </td>
          <td data-label={t("Role")}>{member.role?.name}</td>
          <td colSpan={2}>
            {t.rich("throughLink", { link: <Link to="/g/$groupId/people" params={{ groupId: group.id }}>
              {nameOr(group.name, group.id)}
            </Link> })}
          </td>
        </tr>
      ))}
    </tbody>
  );
}

export function PeoplePage() {
  const { groupId } = route.useParams();
  const rights = useRights(groupId);
  const group = useQuery(groupQuery(groupId));
  const session = useQuery(sessionQuery);
  const members = useInfiniteQuery(membersQuery(groupId));
  const roles = useQuery(rolesQuery);
  const [isInviting, setInviting] = useState(false);
  const { person } = route.useSearch();
  const setSearch = route.useNavigate();
  const showPermissions = (id: string | undefined) => void setSearch({ search: (before) => ({ ...before, person: id }), replace: id === undefined });
  const [link, setLink] = useState<{ url: string; name: string } | null>(null);
  const [sent, setSent] = useState<{ sent: Sent; email: string } | null>(null);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const mine = grantable(roles.data?.items ?? [], rights);

  const ask = (member: Member, what: Question) => {
    const email = member.email ?? "";
    if (what === "may") {
      showPermissions(member.id);
      return;
    }
    if (what === "invitation") {
      read(api.PUT("/group/invite", { body: { groupId, email, roleId: member.role?.id ?? "" } }))
        .then((sent) => {
          if (sent.mail === "queued") showToast(t("emailGetsAnotherMail", { email }));
          else if (sent.mail === "accepted") showToast(t("emailHasAcceptedMeanwhile", { email }));
          else setSent({ sent, email });
        })
        .catch((error: Error) => showToast(error.message, { tone: "bad" }));
      return;
    }
    read(api.POST("/session/link", { params: { header: CONSOLE_HEADERS }, body: { email, groupId, show: true } }))
      .then(({ url }) => setLink({ url: url ?? "", name: nameOf(member) }))
      .catch((error: unknown) => showToast(wordsForError(error), { tone: "bad" }));
  };
  const remove = (member: Member) => {
    const id = member.id ?? "";
    setHidden((known) => new Set(known).add(id));
    hold(
      t("RemovingMemberFromGroup", { member: nameOf(member) }),
      async () => {
        await read(api.DELETE("/group/user", { params: { query: { groupId, userId: id } } }));
        await queryClient.invalidateQueries({ queryKey: ["members", groupId] });
      },
      () => setHidden((known) => new Set([...known].filter((each) => each !== id))),
    );
  };
  const all = members.data?.pages.flatMap((page) => page.items) ?? [];
  const asked = all.find((member) => member.id === person);
  usePageActions(mayCall(rights, "PUT /group/invite") ? [{ id: "invite", label: t("InviteSomebody"), run: () => setInviting(true) }] : []);
  const shown = all.filter((member) => !hidden.has(member.id ?? ""));
  const lockOf = (member: Member): string | undefined => {
    if (isLastAdministrator(member, all)) return t("lastAdministrator");
    return member.id === session.data?.user.id ? t("thisIsYou") : undefined;
  };
  const invite = mayCall(rights, "PUT /group/invite") ? (
    <Button look="primary" onClick={() => setInviting(true)}>
      {t("Invite")}
    </Button>
  ) : (
    rights.isKnown && <Locked label={t("Invite")} operation="PUT /group/invite" groupId={groupId} />
  );
  return (
    <>
      <PageHeader title={t("People")} above={group.data?.name} actions={invite} />
      <QueryView query={members} operation="GET /group/users" groupId={groupId} noun={t("group")}>
        {() => (
          <div className="card">
            <table className="plain stacked people">
              <thead>
                <tr>
                  <th>{t("Person")}</th>
                  <th>{t("Role")}</th>
                  <th>{t("LastSeen")}</th>
                  <th>
                    <span className="visually-hidden">{t("Actions")}</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {shown.map((member) => (
                  <MemberRow key={member.id} member={member} groupId={groupId} rights={rights} roles={mine} lock={lockOf(member)} onAsk={ask} onRemove={remove} />
                ))}
              </tbody>
              <Above groupId={groupId} />
            </table>
            {shown.length === 0 && <Empty text={t("NobodyHasRoleInThisGroup")} action={invite} />}
            {members.hasNextPage && <Button onClick={() => void members.fetchNextPage()}>{t("ShowMore")}</Button>}
          </div>
        )}
      </QueryView>
      {isInviting && <Invite groupId={groupId} roles={mine} onClose={() => setInviting(false)} />}
      {asked && <WhatMay groupId={groupId} userId={asked.id ?? ""} name={nameOf(asked)} onClose={() => showPermissions(undefined)} />}
      {link && <LinkDialog {...link} onClose={() => setLink(null)} />}
      {sent && <InvitationDialog {...sent} onClose={() => setSent(null)} />}
    </>
  );
}
