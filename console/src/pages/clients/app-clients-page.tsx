// Programs that act in a group with a role of their own or its default role. A secret is shown once.
import "~/pages/people/people.css";
import { useState } from "react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { api, read, type Schemas } from "~/api/client";
import { mayCall, useRights } from "~/api/may";
import { groupQuery, queryClient } from "~/api/queries";
import { SERVICE_URL } from "~/base-path";
import { GroupName } from "~/frame/group-name";
import { useScope } from "~/frame/page-state";
import { usePageActions } from "~/ui/actions";
import { Button } from "~/ui/button";
import { CopyButton, IdText } from "~/ui/copy";
import { Dialog } from "~/ui/dialog";
import { Select, TextField } from "~/ui/field";
import { Form } from "~/ui/form";
import { grantable } from "~/pages/people/grants";
import { rolesQuery } from "~/pages/roles/queries";
import { Facts, PageHeader } from "~/ui/page";
import { Pill } from "~/ui/pill";
import { Empty, QueryView } from "~/ui/state";
import { useSubmission } from "~/ui/submit";
import { TimeText, useNow } from "~/ui/time-text";
import { hold } from "~/ui/toast";
import { momentOf } from "~/time";
import { t } from "~/messages/clients";

type AppClient = Schemas["ListedAppClient"];
const route = getRouteApi("/frame/g/$groupId/clients");
const LIMIT = 200;
const DEFAULT = t("defaultRoleOfGroup");
type Role = Schemas["Role"];

const refresh = () => queryClient.invalidateQueries({ queryKey: ["app-clients"] });

function RoleSelect({ roles, value, error, onChoose }: { roles: readonly Role[]; value: string; error?: string | undefined; onChoose: (roleId: string) => void }) {
  return (
    <Select
      label={t("Role")}
      hint={t("OnlyRolesThatHoldNoMore")}
      value={value}
      error={error}
      options={[["", DEFAULT], ...roles.map((role) => [role.id, role.name] as const)]}
      onChange={(event) => onChoose(event.target.value)}
    />
  );
}

function NewClient({
  groupId,
  roles,
  onCreated,
  onClose,
}: {
  groupId: string;
  roles: readonly Role[];
  onCreated: (client: Schemas["GroupAppClient"]) => void;
  onClose: () => void;
}) {
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const [expires, setExpires] = useState("");
  const [roleId, setRoleId] = useState("");
  const submission = useSubmission(["name", "description", "expiration", "roleId"]);
  const create = async () => {
    const expiration = momentOf(expires);
    const body = { groupId, name, ...(description && { description }), ...(roleId && { roleId }), ...(expiration !== null && { expiration: Math.floor(expiration / 1_000) }) };
    const client = await read(api.POST("/appClient", { body }));
    await refresh();
    onCreated(client);
  };
  return (
    <Dialog title={t("NewAppClient")} onClose={onClose}>
      <Form submission={submission} onSubmit={create} submit={t("Create")}>
        <TextField label={t("Name")} required autoFocus value={name} error={submission.errorOf("name")} onChange={(event) => setName(event.target.value)} />
        <TextField label={t("Description")} value={description} error={submission.errorOf("description")} onChange={(event) => setDescription(event.target.value)} />
        <RoleSelect roles={roles} value={roleId} error={submission.errorOf("roleId")} onChoose={setRoleId} />
        <TextField label={t("Expires")} hint={t("EmptyNever")} type="date" value={expires} error={submission.errorOf("expiration")} onChange={(event) => setExpires(event.target.value)} />
      </Form>
    </Dialog>
  );
}

function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

function Secret({ client, onClose }: { client: Schemas["GroupAppClient"]; onClose: () => void }) {
  const text = JSON.stringify({ clientId: client.appClientId, clientSecret: client.secret }, null, 2);
  return (
    <Dialog
      title={t("secretOfName", { name: client.name ?? t("appClient") })}
      onClose={onClose}
      actions={
        <>
          <Button onClick={() => download(`${client.name ?? "app-client"}.json`, text)}>{t("Download")}</Button>
          <Button look="primary" writes={false} onClick={onClose}>
            {t("IHaveKeptIt")}
          </Button>
        </>
      }
    >
      <p>{t("ItIsShownThisOnceWhoever")}</p>
      <Facts
        rows={[
          [t("ClientId"), <IdText id={client.appClientId} />],
          [
            t("ClientSecret"),
            <span>
              <code>{client.secret}</code> <CopyButton text={client.secret} />
            </span>,
          ],
        ]}
      />
    </Dialog>
  );
}

function Rename({ client, onClose }: { client: AppClient; onClose: () => void }) {
  const [name, setName] = useState(client.name);
  const submission = useSubmission(["newName"]);
  const rename = async () => {
    await read(api.PUT("/appClient", { body: { groupId: client.groupId, name: client.name, newName: name, ifUpdatedAt: client.updatedAt } }));
    await refresh();
    onClose();
  };
  return (
    <Dialog title={t("RenameName", { name: client.name })} onClose={onClose}>
      <Form submission={submission} onSubmit={rename} submit={t("Save")}>
        <TextField label={t("Name")} required autoFocus value={name} error={submission.errorOf("newName")} onChange={(event) => setName(event.target.value)} />
      </Form>
    </Dialog>
  );
}

function ChangeRole({ client, roles, onClose }: { client: AppClient; roles: readonly Role[]; onClose: () => void }) {
  const [roleId, setRoleId] = useState(client.roleId ?? "");
  const submission = useSubmission(["roleId"]);
  const change = async () => {
    const body = { groupId: client.groupId, name: client.name, newName: client.name, roleId, ifUpdatedAt: client.updatedAt };
    await read(api.PUT("/appClient", { body }));
    await refresh();
    onClose();
  };
  return (
    <Dialog title={t("roleOfName", { name: client.name })} onClose={onClose}>
      <Form submission={submission} onSubmit={change} submit={t("Save")}>
        <RoleSelect roles={roles} value={roleId} error={submission.errorOf("roleId")} onChoose={setRoleId} />
      </Form>
    </Dialog>
  );
}

export function AppClientsPage() {
  const { groupId } = route.useParams();
  const rights = useRights(groupId);
  const group = useQuery(groupQuery(groupId));
  const now = useNow();
  const roles = useQuery(rolesQuery).data?.items ?? [];
  const mine = grantable(roles, rights);
  const { withBelow } = useScope();
  const clients = useInfiniteQuery({
    queryKey: ["app-clients", groupId, withBelow],
    queryFn: ({ signal, pageParam }) =>
      read(api.GET("/group/appClients", { params: { query: { groupId, subgroups: withBelow, limit: LIMIT, ...(pageParam && { nextToken: pageParam }) } }, signal })),
    initialPageParam: "",
    getNextPageParam: (page) => page.nextToken ?? undefined,
  });
  const [isCreating, setCreating] = useState(false);
  const [created, setCreated] = useState<Schemas["GroupAppClient"] | null>(null);
  const [renamed, setRenamed] = useState<AppClient | null>(null);
  const [changed, setChanged] = useState<AppClient | null>(null);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const remove = (client: AppClient) => {
    setHidden((known) => new Set(known).add(client.appClientId));
    hold(
      t("DeletingNameItsTokensEndWith", { name: client.name }),
      async () => {
        // The parameter `name` carries the id of the group.
        await read(api.DELETE("/appClient", { params: { query: { name: client.groupId, appClientId: client.appClientId } } }));
        await refresh();
      },
      () => setHidden((known) => new Set([...known].filter((each) => each !== client.appClientId))),
    );
  };
  const create = mayCall(rights, "POST /appClient") && (
    <Button look="primary" onClick={() => setCreating(true)}>
      {t("NewAppClient")}
    </Button>
  );
  usePageActions(mayCall(rights, "POST /appClient") ? [{ id: "new-client", label: t("NewAppClient"), run: () => setCreating(true) }] : []);
  const shown = clients.data?.pages.flatMap((page) => page.items).filter((each) => !hidden.has(each.appClientId)) ?? [];
  return (
    <>
      <PageHeader title={t("AppClients")} below={t("TheyActInNameAndBelow", { name: group.data?.name ?? t("thisGroup") })} actions={create} />
      <QueryView query={clients} operation="GET /group/appClients" groupId={groupId} noun={t("group")}>
        {() =>
          shown.length === 0 ? (
            <Empty
              text={t("appClientIsProgramWithId")}
              action={create}
              curl={`curl -H "Authorization: Bearer $TOKEN" \\
  -H "Content-Type: application/json" \\
  -d '{"groupId": "${groupId}", "name": "dashboard"}' \\
  "${SERVICE_URL}/appClient"`}
            />
          ) : (
            <div className="card">
              <table className="plain stacked people">
                <thead>
                  <tr>
                    <th>{t("Name")}</th>
                    <th>{t("Role")}</th>
                    <th>{t("ClientId")}</th>
                    <th>{t("Expires")}</th>
                    <th>{t("Created")}</th>
                    <th>
                      <span className="visually-hidden">{t("Actions")}</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {shown.map((client) => {
                    const expires = momentOf(client.expiration);
                    return (
                      <tr key={client.appClientId}>
                        <td>
                          <strong>{client.name}</strong>
                          {client.description && <div className="ink-2">{client.description}</div>}
                          {client.groupId !== groupId && (
                            <div className="ink-2">
                              {t.rich("ofGroup", { group: <GroupName groupId={client.groupId} /> })}
                            </div>
                          )}
                        </td>
                        <td data-label={t("Role")}>
                          {client.roleId ? (roles.find((role) => role.id === client.roleId)?.name ?? client.roleId) : <span className="ink-2">{t("default")}</span>}
                        </td>
                        <td data-label={t("ClientId")}>
                          <IdText id={client.appClientId} />
                        </td>
                        <td data-label={t("Expires")}>
                          {expires !== null && expires < now ? <Pill tone="bad">{t("expired")}</Pill> : <TimeText at={expires} precision="day" none={t("never")} />}
                        </td>
                        <td data-label={t("Created")}>
                          <TimeText at={client.createdAt} precision="minute" />
                        </td>
                        <td className="row-actions">
                          <div className="form-actions">
                            <Button writes onClick={() => setRenamed(client)}>{t("Rename")}</Button>
                            <Button writes onClick={() => setChanged(client)}>{t("ChangeRole")}</Button>
                            <Button writes onClick={() => remove(client)}>{t("Delete")}</Button>
                          </div>
                        </td>
                      </tr>
                    );
                  })}
                </tbody>
              </table>
              {clients.hasNextPage && <Button onClick={() => void clients.fetchNextPage()}>{t("ShowMore")}</Button>}
            </div>
          )
        }
      </QueryView>
      {isCreating && (
        <NewClient
          groupId={groupId}
          roles={mine}
          onClose={() => setCreating(false)}
          onCreated={(client) => {
            setCreating(false);
            setCreated(client);
          }}
        />
      )}
      {created && <Secret client={created} onClose={() => setCreated(null)} />}
      {renamed && <Rename client={renamed} onClose={() => setRenamed(null)} />}
      {changed && <ChangeRole client={changed} roles={mine} onClose={() => setChanged(null)} />}
    </>
  );
}
