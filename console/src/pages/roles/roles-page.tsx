// Roles against permissions. A role is changed in the group that one looks at, by who holds what
// it gains.
import "./roles.css";
import { useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { api, read, type Schemas } from "~/api/client";
import { mayCall, useRights } from "~/api/may";
import { queryClient, sessionQuery } from "~/api/queries";
import { useGroupId } from "~/frame/page-state";
import { Button } from "~/ui/button";
import { Dialog } from "~/ui/dialog";
import { TextField } from "~/ui/field";
import { Form } from "~/ui/form";
import { PageHeader } from "~/ui/page";
import { QueryView } from "~/ui/state";
import { useSubmission } from "~/ui/submit";
import { hold, showToast } from "~/ui/toast";
import { groupPermissions } from "./permission-groups";
import { permissionsQuery, rolesQuery } from "./queries";
import { t } from "~/messages/roles";

type Role = Schemas["Role"];
type Permission = Schemas["Permission"];

const refresh = () => queryClient.invalidateQueries({ queryKey: rolesQuery.queryKey });

function RoleDialog({
  role,
  groupId,
  permissions,
  mayGive,
  onClose,
}: {
  role: Role | null;
  groupId: string;
  permissions: readonly Permission[];
  mayGive: (permission: string) => boolean;
  onClose: () => void;
}) {
  const [name, setName] = useState(role?.name ?? "");
  const [description, setDescription] = useState(role?.description ?? "");
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set(role?.permissions ?? []));
  const submission = useSubmission(["name", "description", "permissions"]);
  const toggle = (permission: string) =>
    setChosen((before) => {
      const next = new Set(before);
      if (!next.delete(permission)) next.add(permission);
      return next;
    });
  const save = async () => {
    const body = { name, description, permissions: [...chosen] };
    if (role) await read(api.PUT("/role", { body: { roleId: role.id, groupId, ...body, ifUpdatedAt: role.updatedAt } }));
    else await read(api.POST("/role", { body: { ...body, permissions: body.permissions.join(" ") } }));
    await refresh();
    showToast(role ? t("nameIsChangedForEveryoneWho", { name }) : t("nameIsCreated", { name }));
    onClose();
  };
  return (
    <Dialog title={role ? t("ChangeName", { name: role.name }) : t("NewRole")} width="wide" onClose={onClose}>
      <Form submission={submission} onSubmit={save} submit={role ? t("Save") : t("Create")}>
        <TextField label={t("Name")} required value={name} error={submission.errorOf("name")} onChange={(event) => setName(event.target.value)} />
        <TextField label={t("Description")} value={description} error={submission.errorOf("description")} onChange={(event) => setDescription(event.target.value)} />
        {submission.errorOf("permissions") && <p className="field-error">{submission.errorOf("permissions")}</p>}
        {groupPermissions(permissions).map((group) => (
          <fieldset key={group.title} className="roles-permissions">
            <legend>{group.title}</legend>
            <p className="field-hint">{group.sentence}</p>
            {group.permissions.map((permission) => {
              const isLocked = !mayGive(permission.id) && !chosen.has(permission.id);
              return (
                <label key={permission.id} title={isLocked ? t("YouDoNotHoldItYourself") : undefined}>
                  <input type="checkbox" checked={chosen.has(permission.id)} disabled={isLocked} onChange={() => toggle(permission.id)} />
                  <span>
                    {permission.name}
                    <small>{permission.description}</small>
                  </span>
                </label>
              );
            })}
          </fieldset>
        ))}
      </Form>
    </Dialog>
  );
}

function Matrix({
  roles,
  permissions,
  mayGive,
  onEdit,
  onRemove,
}: {
  roles: readonly Role[];
  permissions: readonly Permission[];
  mayGive: (permission: string) => boolean;
  onEdit: ((role: Role) => void) | null;
  onRemove: ((role: Role) => void) | null;
}) {
  return (
    <div className="card roles" role="region" aria-label={t("PermissionsOfEachRole")} tabIndex={0}>
      <table className="plain">
        <thead>
          <tr>
            <th scope="col">{t("Permission")}</th>
            {roles.map((role) => (
              <th key={role.id} scope="col" title={role.description}>
                <span>{role.name}</span>
                {role.removable ? (
                  <span className="roles-actions">
                    {onEdit && (
                      <Button look="link" writes onClick={() => onEdit(role)}>
                        {t.rich("EditPart", { part: <span className="visually-hidden"> {role.name}</span> })}
                      </Button>
                    )}
                    {onRemove && (
                      <Button look="link" writes onClick={() => onRemove(role)}>
                        {t.rich("DeletePart", { part: <span className="visually-hidden"> {role.name}</span> })}
                      </Button>
                    )}
                  </span>
                ) : (
                  <span className="roles-actions ink-3">{t("builtIn")}</span>
                )}
              </th>
            ))}
          </tr>
        </thead>
        {groupPermissions(permissions).map((group) => (
          <tbody key={group.title}>
            <tr className="roles-group">
              <th scope="rowgroup" colSpan={roles.length + 1}>
                {group.title}
                <small>{group.sentence}</small>
              </th>
            </tr>
            {group.permissions.map((permission) => (
              <tr key={permission.id}>
                <th scope="row">
                  {permission.name} <code className="ink-3">{permission.id}</code>{" "}
                  {!mayGive(permission.id) && (
                    <span className="ink-3" title={t("YouDoNotHoldItIn")}>
                      {t("notYours")}
                    </span>
                  )}
                  <small>{permission.description}</small>
                </th>
                {roles.map((role) => (
                  <td key={role.id} data-role={role.name} data-holds={role.permissions.includes(permission.id)}>
                    {role.permissions.includes(permission.id) ? (
                      <span className="roles-yes">
                        ✓<span className="visually-hidden">{" "}{t("yes")}</span>
                      </span>
                    ) : (
                      <span className="ink-3">
                        –<span className="visually-hidden">{" "}{t("no")}</span>
                      </span>
                    )}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        ))}
      </table>
    </div>
  );
}

export function RolesPage() {
  const groupId = useGroupId();
  const rights = useRights(groupId);
  const session = useQuery(sessionQuery);
  const roles = useQuery(rolesQuery);
  const permissions = useQuery(permissionsQuery);
  const [edited, setEdited] = useState<Role | "new" | null>(null);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const mayWrite = groupId !== null && mayCall(rights, "POST /role");
  const mayGive = (permission: string) => rights.isOperator || rights.permissions.has(permission);
  const remove = (role: Role) => {
    setHidden((known) => new Set(known).add(role.id));
    hold(
      t("DeletingRoleName", { name: role.name }),
      async () => {
        const query = { groupId: groupId ?? "", roleId: role.id, userId: session.data?.user.id ?? "" };
        await read(api.DELETE("/role", { params: { query } }));
        await refresh();
      },
      () => setHidden((known) => new Set([...known].filter((each) => each !== role.id))),
    );
  };
  return (
    <>
      <PageHeader
        title={t("Roles")}
        below={t("roleIsSetOfPermissionsSomebodys")}
        actions={
          mayWrite && (
            <Button look="primary" onClick={() => setEdited("new")}>
              {t("NewRole")}
            </Button>
          )
        }
      />
      <QueryView query={permissions}>
        {({ items: all }) => (
          <QueryView query={roles} operation="GET /group/roles" groupId={groupId}>
            {({ items }) => (
              <>
                <Matrix
                  roles={items.filter((role) => !hidden.has(role.id))}
                  permissions={all}
                  mayGive={mayGive}
                  onEdit={mayWrite ? setEdited : null}
                  onRemove={mayWrite ? remove : null}
                />
                {edited && groupId && (
                  <RoleDialog role={edited === "new" ? null : edited} groupId={groupId} permissions={all} mayGive={mayGive} onClose={() => setEdited(null)} />
                )}
              </>
            )}
          </QueryView>
        )}
      </QueryView>
    </>
  );
}
