import "./groups.css";
import { useMemo, useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { api, read, type Schemas } from "~/api/client";
import { mayCall, useRights, type Rights } from "~/api/may";
import { fetchNewest, groupQuery, queryClient } from "~/api/queries";
import { deviceTypesQuery } from "~/pages/devices/queries";
import { usePageActions } from "~/ui/actions";
import { Button } from "~/ui/button";
import { knownValues } from "~/ui/configuration";
import { IdText } from "~/ui/copy";
import { Dialog } from "~/ui/dialog";
import { EditForm, useEdit } from "~/ui/edit";
import { Select, TextField } from "~/ui/field";
import { Form } from "~/ui/form";
import { Card, Facts, PageHeader } from "~/ui/page";
import { Pill } from "~/ui/pill";
import { PolicyForm, type PolicyQuery } from "~/ui/policy-form";
import { Loading, QueryView } from "~/ui/state";
import { useSubmission } from "~/ui/submit";
import { TimeText } from "~/ui/time-text";
import { showToast } from "~/ui/toast";
import { differing } from "~/ui/versions";
import { Locked } from "~/ui/why";
import { GroupTree } from "~/frame/group-picker";
import { nameOr } from "~/ui/name";
import { GroupLimitsCards } from "./group-limits";
import { NetworkToken } from "./network-token";
import { NewGroup } from "./new-group";
import { rolesQuery } from "~/pages/roles/queries";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/groups";

type Group = Schemas["Group"];
type GroupChange = Schemas["GroupChange"];
const route = getRouteApi("/frame/g/$groupId/settings");

function put(group: Group, body: Omit<GroupChange, "groupId">): Promise<Group> {
  return read(api.PUT("/group", { body: { groupId: group.id, ifUpdatedAt: group.updatedAt, ...body } }));
}

// Only another role is sent: for any, the service loads the permissions of everybody again.
function putAbout(before: Group, { roleId, ...about }: { name: string; description: string; tags: string[]; roleId: string }): Promise<Group> {
  return put(before, { ...about, ...(roleId && roleId !== before.defaultRole && { roleId }) });
}

async function refresh(group: Group): Promise<void> {
  queryClient.setQueryData(groupQuery(group.id).queryKey, group);
  await Promise.all([queryClient.invalidateQueries({ queryKey: ["group", group.id] }), queryClient.invalidateQueries({ queryKey: ["groups"] })]);
}

function formOf(group: Group) {
  return { name: group.name ?? "", description: group.description ?? "", tags: (group.tags ?? []).join(", "), roleId: group.defaultRole ?? "" };
}

function About({ group }: { group: Group }) {
  const roles = useQuery(rolesQuery).data?.items ?? [];
  const roleName = (id: string) => nameOr(roles.find((each) => each.id === id)?.name, id);
  const edit = useEdit({
    stored: group,
    formOf,
    put: ({ tags, ...form }, before) => putAbout(before, { ...form, tags: tags.split(",").map((tag) => tag.trim()).filter(Boolean) }),
    restore: ({ name = "", description = "", tags = [], defaultRole = "" }, before) => putAbout(before, { name, description, tags, roleId: defaultRole }),
    readNewest: () => fetchNewest(groupQuery(group.id)),
    onStored: refresh,
    compare: (mine, theirs) =>
      differing([
        { label: t("Name"), mine: mine.name, theirs: theirs.name },
        { label: t("Description"), mine: mine.description, theirs: theirs.description },
        { label: t("Tags"), mine: mine.tags, theirs: theirs.tags },
        { label: t("DefaultRole"), mine: roleName(mine.roleId), theirs: roleName(theirs.roleId) },
      ]),
    savedText: t("groupIsChanged"),
    fields: ["name", "description", "tags", "roleId"],
  });
  const { form, change } = edit;
  const { errorOf } = edit.submission;
  return (
    <Card title={t("About")}>
      <EditForm edit={edit}>
        <TextField label={t("Name")} required value={form.name} error={errorOf("name")} onChange={(event) => change({ name: event.target.value })} />
        <TextField label={t("Description")} value={form.description} error={errorOf("description")} onChange={(event) => change({ description: event.target.value })} />
        <TextField label={t("Tags")} hint={t("SeparatedByCommas")} value={form.tags} error={errorOf("tags")} onChange={(event) => change({ tags: event.target.value })} />
        <Select
          label={t("DefaultRole")}
          hint={t("AppClientsOfThisGroupHave")}
          value={form.roleId}
          error={errorOf("roleId")}
          options={roles.map((role) => [role.id, role.name] as const)}
          onChange={(event) => change({ roleId: event.target.value })}
        />
      </EditForm>
    </Card>
  );
}

function Move({ group, onClose }: { group: Group; onClose: () => void }) {
  const [target, setTarget] = useState<string | null>(null);
  const targetGroup = useQuery({ ...groupQuery(target ?? ""), enabled: target !== null && target !== "" });
  const submission = useSubmission(["parent"]);
  const move = async () => {
    const before = group.parent ?? "";
    const moved = await put(group, { parent: target ?? "" });
    await refresh(moved);
    const undo = async () => {
      const newest = await fetchNewest(groupQuery(group.id));
      if (newest.parent !== moved.parent) throw new Error("It was moved again since then, and stays where it is.");
      await refresh(await put(newest, { parent: before }));
    };
    showToast(t("nameIsMoved", { name: group.name ?? t("group") }), { action: { label: t("Undo"), run: undo } });
    onClose();
  };
  const where = target === "" ? t("top") : (targetGroup.data?.name ?? "…");
  return (
    <Dialog title={t("MoveName", { name: group.name ?? t("group2") })} onClose={onClose}>
      <Button onClick={() => setTarget("")}>{t("ToTopAsRootGroup")}</Button>
      <GroupTree onChoose={setTarget} />
      {target !== null && (
        <Form submission={submission} onSubmit={move} submit={t("MoveBelowWhere", { where })}>
          <p>
            {t("ItMovesWithAllGroupsBelow", { where })}
          </p>
          {submission.errorOf("parent") && <p className="field-error">{submission.errorOf("parent")}</p>}
        </Form>
      )}
    </Dialog>
  );
}

function Deletion({ group, onClose }: { group: Group; onClose: () => void }) {
  const [typed, setTyped] = useState("");
  const submission = useSubmission();
  const name = nameOr(group.name, group.id);
  const remove = async () => {
    const deleted = await read(api.DELETE("/group", { params: { query: { groupId: group.id, recursive: true } } }));
    await queryClient.invalidateQueries({ queryKey: ["group", group.id] });
    await queryClient.invalidateQueries({ queryKey: ["groups"] });
    showToast(deleted.deletionAt ? t("nameWillBeDeletedUntilThen", { name }) : t("nameIsDeleted", { name }));
    onClose();
  };
  return (
    <Dialog title={t("DeleteName", { name })} onClose={onClose}>
      <Form submission={submission} onSubmit={remove} submit={t("DeleteGroup")} look="danger">
        <p>
          {t("emptyGroupIsDeletedAtOnce")}
        </p>
        <TextField label={t("TypeNameToConfirmName", { name })} pattern={name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")} required value={typed} onChange={(event) => setTyped(event.target.value)} />
      </Form>
    </Dialog>
  );
}

function policyQuery(groupId: string): PolicyQuery {
  return {
    queryKey: ["group-policy", groupId],
    queryFn: ({ signal }) => read(api.GET("/group/configuration", { params: { query: { groupId } }, signal })),
  };
}

function Policy({ groupId, isEditable }: { groupId: string; isEditable: boolean }) {
  const options = policyQuery(groupId);
  const types = useQuery(deviceTypesQuery);
  const known = useMemo(() => knownValues(types.data ?? []), [types.data]);
  return (
    <Card title={t("ConfigurationPolicy")} note={<Link to="/g/$groupId/drift" params={{ groupId }}>{t("DevicesThatDrift")}</Link>}>
      <QueryView query={useQuery(options)} skeletonRows={3} operation="GET /group/configuration" groupId={groupId}>
        {(found) =>
          types.isPending ? (
            <Loading rows={3} />
          ) : (
            <PolicyForm
              key={groupId}
              found={found}
              query={options}
              known={known}
              explanation={t("WhatEveryDeviceHereAndBelow")}
              isEditable={isEditable}
              put={(policy, ifUpdatedAt) => read(api.PUT("/group/configuration", { body: { groupId, policy, ifUpdatedAt } }))}
            />
          )
        }
      </QueryView>
    </Card>
  );
}

async function restore(groupId: string): Promise<void> {
  try {
    await read(api.POST("/group/restore", { body: { groupId } }));
    showToast(t("groupIsRestored"));
  } catch (error) {
    showToast((error as Error).message, { tone: "bad" });
  }
  await queryClient.invalidateQueries({ queryKey: ["group", groupId] });
}

function Settings({ group, rights }: { group: Group; rights: Rights }) {
  const [open, setOpen] = useState<"move" | "delete" | "below" | null>(null);
  const mayChange = mayCall(rights, "PUT /group");
  const close = () => setOpen(null);
  usePageActions(mayCall(rights, "POST /group") ? [{ id: "new-group", label: t("NewGroupBelowThisOne"), run: () => setOpen("below") }] : []);
  const actions = (
    <>
      {mayCall(rights, "POST /group") && <Button writes onClick={() => setOpen("below")}>{t("NewGroupBelow")}</Button>}
      {mayChange && <Button writes onClick={() => setOpen("move")}>{t("Move")}</Button>}
      {mayCall(rights, "DELETE /group") && !group.deletionAt && (
        <Button look="danger" onClick={() => setOpen("delete")}>
          {t("Delete")}
        </Button>
      )}
      {!mayChange && <Locked label={t("Change")} operation="PUT /group" groupId={group.id} />}
    </>
  );
  return (
    <>
      <PageHeader
        title={nameOr(group.name, group.id)}
        above={<Link to="/groups">{t("Groups")}</Link>}
        state={
          group.deletionAt && (
            <>
              <Pill tone="bad">
                {t.rich("deletedOnTime", { time: <TimeText at={group.deletionAt} precision="minute" /> })}
              </Pill>
              <Button writes onClick={() => void restore(group.id)}>{t("Restore")}</Button>
            </>
          )
        }
        actions={actions}
      />
      <div className="group-settings card-columns">
        <div>
          {mayChange ? (
            <About key={group.id} group={group} />
          ) : (
            <Card title={t("About")}>
              <Facts rows={[[t("Description"), group.description ?? "–"], [t("Tags"), (group.tags ?? []).join(", ") || "–"]]} />
            </Card>
          )}
          {mayChange && <NetworkToken groupId={group.id} />}
          <GroupLimitsCards key={group.id} groupId={group.id} rights={rights} />
        </div>
        <div>
          <Card title={t("Facts")}>
            <Facts
              rows={[
                [t("GroupId"), <IdText id={group.id} />],
                [t("YourRole"), group.role?.name ?? "–"],
                [t("Devices"), (group.numberOfDevices ?? 0).toLocaleString(LOCALE)],
                [t("Connectors"), (group.numberOfConnectors ?? 0).toLocaleString(LOCALE)],
                [t("Notifications"), (group.numberOfNotifications ?? 0).toLocaleString(LOCALE)],
                [t("Owner"), group.ownerId ? <IdText id={group.ownerId} /> : "–"],
                [t("Created"), <TimeText at={group.createdAt} precision="minute" />],
                [t("Changed"), <TimeText at={group.updatedAt} precision="minute" />],
              ]}
            />
          </Card>
          {mayCall(rights, "GET /group/configuration") && <Policy groupId={group.id} isEditable={mayCall(rights, "PUT /group/configuration")} />}
        </div>
      </div>
      {open === "move" && <Move group={group} onClose={close} />}
      {open === "delete" && <Deletion group={group} onClose={close} />}
      {open === "below" && <NewGroup parent={{ id: group.id, name: nameOr(group.name, group.id) }} onClose={close} />}
    </>
  );
}

export function GroupSettingsPage() {
  const { groupId } = route.useParams();
  const group = useQuery(groupQuery(groupId));
  const rights = useRights(groupId);
  return (
    <QueryView query={group} noun={t("group3")} operation="GET /group" groupId={groupId}>
      {(found) => <Settings group={found} rights={rights} />}
    </QueryView>
  );
}
