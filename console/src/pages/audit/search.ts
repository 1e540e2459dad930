import { flagParam, textParam, type RawSearch } from "~/search";

export interface AuditSearch {
  who?: string | undefined;
  thing?: string | undefined;
  action?: string | undefined;
  request?: string | undefined;
  // Only of the group itself.
  own?: true | undefined;
  // The entry that is open.
  entry?: string | undefined;
}

export function auditSearch(search: RawSearch): AuditSearch {
  return {
    who: textParam(search, "who"),
    thing: textParam(search, "thing"),
    action: textParam(search, "action"),
    request: textParam(search, "request"),
    own: flagParam(search, "own") ? true : undefined,
    entry: textParam(search, "entry"),
  };
}

export interface AuditFilter {
  actorId?: string | undefined;
  objectId?: string | undefined;
  action?: string | undefined;
  requestId?: string | undefined;
  subgroups?: boolean | undefined;
}

export function filterOf(search: AuditSearch): AuditFilter {
  return { actorId: search.who, objectId: search.thing, action: search.action, requestId: search.request, subgroups: search.own ? undefined : true };
}
