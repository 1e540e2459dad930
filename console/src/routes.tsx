// Every screen with its address. What a screen keeps in the search part is validated beside it,
// in its `search.ts`; the screen itself is loaded when it is opened.
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
  retainSearchParams,
} from "@tanstack/react-router";
import { CONSOLE_PATH } from "./base-path";
import { fetchRights, mayCall } from "./api/may";
import { queryClient, sessionQuery } from "./api/queries";
import { Frame } from "./frame/frame";
import { NotFound, PageFailed } from "./frame/failures";
import { preferredScope, type PageSearch } from "./frame/page-state";
import { GROUP_SECTIONS } from "./frame/sections";
import { preferences } from "./preferences";
import { flagParam, parseSearch, stringifySearch, textParam, type RawSearch } from "./search";
import { accountSearch } from "./pages/account/search";
import { auditSearch } from "./pages/audit/search";
import { alarmsSearch } from "./pages/alarms/search";
import { appClientsSearch } from "./pages/clients/search";
import { connectorSearch, connectorsSearch, newConnectorSearch } from "./pages/connectors/search";
import { contactPointSearch, contactPointsSearch, newContactPointSearch } from "./pages/contacts/search";
import { deviceSearch } from "./pages/device/search";
import { deviceImportSearch, devicesSearch } from "./pages/devices/search";
import { driftSearch } from "./pages/drift/search";
import { exploreSearch } from "./pages/explore/search";
import { groupSettingsSearch, groupsSearch } from "./pages/groups/search";
import { jobSearch, jobsSearch } from "./pages/jobs/search";
import { liveSearch } from "./pages/live/search";
import { mapSearch } from "./pages/map/search";
import { messagesSearch } from "./pages/messages/search";
import { newNotificationSearch, notificationSearch, notificationsSearch } from "./pages/notifications/search";
import { overviewSearch } from "./pages/overview/search";
import { peopleSearch } from "./pages/people/search";
import { platformSearch } from "./pages/platform/search";
import { newReportSearch, reportSearch, reportsSearch } from "./pages/reports/search";
import { rolesSearch } from "./pages/roles/search";
import { messageTraceSearch, recordTraceSearch } from "./pages/trace/search";
import { typeSearch, typesSearch } from "./pages/types/search";
import { unknownDevicesSearch } from "./pages/unknown/search";
import { signInSearch } from "./pages/sign-in/search";

function pageSearch(search: RawSearch): PageSearch {
  return { from: textParam(search, "from"), to: textParam(search, "to"), tz: textParam(search, "tz"), own: flagParam(search, "own") ? true : undefined };
}

const root = createRootRoute({
  validateSearch: pageSearch,
  search: { middlewares: [retainSearchParams(["from", "to", "tz", "own"])] },
  notFoundComponent: NotFound,
  errorComponent: PageFailed,
});

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: signInSearch,
  component: lazyRouteComponent(() => import("./pages/sign-in/sign-in-page"), "SignInPage"),
});

// What a link in a mail leads to, whoever opens it.
const reportLink = createRoute({
  getParentRoute: () => root,
  path: "/report",
  component: lazyRouteComponent(() => import("./pages/reports/report-link-page"), "ReportLinkPage"),
});

const frame = createRoute({
  getParentRoute: () => root,
  id: "frame",
  component: Frame,
  beforeLoad: async ({ location }) => {
    const session = await queryClient.ensureQueryData(sessionQuery);
    if (session === null) throw redirect({ to: "/sign-in", search: { next: location.href } });
  },
});

const start = createRoute({
  getParentRoute: () => frame,
  path: "/",
  beforeLoad: () => {
    const { lastGroup } = preferences();
    if (lastGroup) throw redirect({ to: "/g/$groupId", params: { groupId: lastGroup }, search: preferredScope() });
    throw redirect({ to: "/groups" });
  },
});

// A group leads to the first of its sections that may be seen.
const group = createRoute({
  getParentRoute: () => frame,
  path: "/g/$groupId",
  beforeLoad: async ({ params, search }) => {
    const rights = await fetchRights(params.groupId);
    const seen = rights && GROUP_SECTIONS.find((each) => !each.needs || mayCall(rights, each.needs));
    throw redirect({ to: seen?.to ?? "/g/$groupId/overview", params, search: { own: search.own } } as never);
  },
});

const overview = createRoute({
  getParentRoute: () => frame,
  path: "/g/$groupId/overview",
  validateSearch: overviewSearch,
  component: lazyRouteComponent(() => import("./pages/overview/overview-page"), "OverviewPage"),
});

const alarms = createRoute({
  getParentRoute: () => frame,
  path: "/g/$groupId/alarms",
  validateSearch: alarmsSearch,
  component: lazyRouteComponent(() => import("./pages/alarms/alarms-page"), "AlarmsPage"),
});

const live = createRoute({
  getParentRoute: () => frame,
  path: "/g/$groupId/live",
  validateSearch: liveSearch,
  component: lazyRouteComponent(() => import("./pages/live/live-page"), "LivePage"),
});

const devices = createRoute({
  getParentRoute: () => frame,
  path: "/g/$groupId/devices",
  validateSearch: devicesSearch,
  component: lazyRouteComponent(() => import("./pages/devices/devices-page"), "DevicesPage"),
});

const deviceImport = createRoute({
  getParentRoute: () => frame,
  path: "/g/$groupId/devices/import",
  validateSearch: deviceImportSearch,
  component: lazyRouteComponent(() => import("./pages/devices/device-import-page"), "DeviceImportPage"),
});

const map = createRoute({
  getParentRoute: () => frame,
  path: "/g/$groupId/map",
  validateSearch: mapSearch,
  component: lazyRouteComponent(() => import("./pages/map/map-page"), "MapPage"),
});

const explore = createRoute({
  getParentRoute: () => frame,
  path: "/g/$groupId/explore",
  validateSearch: exploreSearch,
  component: lazyRouteComponent(() => import("./pages/explore/explore-page"), "ExplorePage"),
});

const connectors = createRoute({
  getParentRoute: () => frame,
  path: "/g/$groupId/connectors",
  validateSearch: connectorsSearch,
  component: lazyRouteComponent(() => import("./pages/connectors/connectors-page"), "ConnectorsPage"),
});

const newConnector = createRoute({
  getParentRoute: () => frame,
  path: "/g/$groupId/connectors/new",
  validateSearch: newConnectorSearch,
  component: lazyRouteComponent(() => import("./pages/connectors/new-connector-page"), "NewConnectorPage"),
});

const connector = createRoute({
  getParentRoute: () => frame,
  path: "/g/$groupId/connectors/$connectorId",
  validateSearch: connectorSearch,
  component: lazyRouteComponent(() => import("./pages/connectors/connector-page"), "ConnectorPage"),
});

const messages = createRoute({
  getParentRoute: () => frame,
  path: "/g/$groupId/messages",
  validateSearch: messagesSearch,
  component: lazyRouteComponent(() => import("./pages/messages/messages-page"), "MessagesPage"),
});

const notifications = createRoute({
  getParentRoute: () => frame,
  path: "/g/$groupId/notifications",
  validateSearch: notificationsSearch,
  component: lazyRouteComponent(() => import("./pages/notifications/notifications-page"), "NotificationsPage"),
});

const newNotification = createRoute({
  getParentRoute: () => frame,
  path: "/g/$groupId/notifications/new",
  validateSearch: newNotificationSearch,
  component: lazyRouteComponent(() => import("./pages/notifications/new-notification-page"), "NewNotificationPage"),
});

const notification = createRoute({
  getParentRoute: () => frame,
  path: "/g/$groupId/notifications/$notificationId",
  validateSearch: notificationSearch,
  component: lazyRouteComponent(() => import("./pages/notifications/notification-page"), "NotificationPage"),
});

const reports = createRoute({
  getParentRoute: () => frame,
  path: "/g/$groupId/reports",
  validateSearch: reportsSearch,
  component: lazyRouteComponent(() => import("./pages/reports/reports-page"), "ReportsPage"),
});

const newReport = createRoute({
  getParentRoute: () => frame,
  path: "/g/$groupId/reports/new",
  validateSearch: newReportSearch,
  component: lazyRouteComponent(() => import("./pages/reports/new-report-page"), "NewReportPage"),
});

const report = createRoute({
  getParentRoute: () => frame,
  path: "/g/$groupId/reports/$reportId",
  validateSearch: reportSearch,
  component: lazyRouteComponent(() => import("./pages/reports/report-page"), "ReportPage"),
});

const contactPoints = createRoute({
  getParentRoute: () => frame,
  path: "/g/$groupId/contact-points",
  validateSearch: contactPointsSearch,
  component: lazyRouteComponent(() => import("./pages/contacts/contact-points-page"), "ContactPointsPage"),
});

const newContactPoint = createRoute({
  getParentRoute: () => frame,
  path: "/g/$groupId/contact-points/new",
  validateSearch: newContactPointSearch,
  component: lazyRouteComponent(() => import("./pages/contacts/new-contact-point-page"), "NewContactPointPage"),
});

const contactPoint = createRoute({
  getParentRoute: () => frame,
  path: "/g/$groupId/contact-points/$contactPointId",
  validateSearch: contactPointSearch,
  component: lazyRouteComponent(() => import("./pages/contacts/contact-point-page"), "ContactPointPage"),
});

const sharedViews = createRoute({
  getParentRoute: () => frame,
  path: "/g/$groupId/shared-views",
  component: lazyRouteComponent(() => import("./pages/shared/shared-views-page"), "SharedViewsPage"),
});

const groupSettings = createRoute({
  getParentRoute: () => frame,
  path: "/g/$groupId/settings",
  validateSearch: groupSettingsSearch,
  component: lazyRouteComponent(() => import("./pages/groups/group-settings-page"), "GroupSettingsPage"),
});

const people = createRoute({
  getParentRoute: () => frame,
  path: "/g/$groupId/people",
  validateSearch: peopleSearch,
  component: lazyRouteComponent(() => import("./pages/people/people-page"), "PeoplePage"),
});

const appClients = createRoute({
  getParentRoute: () => frame,
  path: "/g/$groupId/clients",
  validateSearch: appClientsSearch,
  component: lazyRouteComponent(() => import("./pages/clients/app-clients-page"), "AppClientsPage"),
});

const audit = createRoute({
  getParentRoute: () => frame,
  path: "/g/$groupId/audit",
  validateSearch: auditSearch,
  component: lazyRouteComponent(() => import("./pages/audit/audit-page"), "AuditPage"),
});

const jobs = createRoute({
  getParentRoute: () => frame,
  path: "/g/$groupId/jobs",
  validateSearch: jobsSearch,
  component: lazyRouteComponent(() => import("./pages/jobs/jobs-page"), "JobsPage"),
});

const job = createRoute({
  getParentRoute: () => frame,
  path: "/g/$groupId/jobs/$jobId",
  validateSearch: jobSearch,
  component: lazyRouteComponent(() => import("./pages/jobs/job-page"), "JobPage"),
});

const drift = createRoute({
  getParentRoute: () => frame,
  path: "/g/$groupId/drift",
  validateSearch: driftSearch,
  component: lazyRouteComponent(() => import("./pages/drift/drift-page"), "DriftPage"),
});

const unknownDevices = createRoute({
  getParentRoute: () => frame,
  path: "/g/$groupId/unknown-devices",
  validateSearch: unknownDevicesSearch,
  component: lazyRouteComponent(() => import("./pages/unknown/unknown-devices-page"), "UnknownDevicesPage"),
});

const device = createRoute({
  getParentRoute: () => frame,
  path: "/d/$deviceId",
  validateSearch: deviceSearch,
  component: lazyRouteComponent(() => import("./pages/device/device-page"), "DevicePage"),
});

const recordTrace = createRoute({
  getParentRoute: () => frame,
  path: "/r/$recordId",
  validateSearch: recordTraceSearch,
  component: lazyRouteComponent(() => import("./pages/trace/record-trace-page"), "RecordTracePage"),
});

const messageTrace = createRoute({
  getParentRoute: () => frame,
  path: "/m/$messageId",
  validateSearch: messageTraceSearch,
  component: lazyRouteComponent(() => import("./pages/trace/message-trace-page"), "MessageTracePage"),
});

const groups = createRoute({
  getParentRoute: () => frame,
  path: "/groups",
  validateSearch: groupsSearch,
  component: lazyRouteComponent(() => import("./pages/groups/groups-page"), "GroupsPage"),
});

const roles = createRoute({
  getParentRoute: () => frame,
  path: "/roles",
  validateSearch: rolesSearch,
  component: lazyRouteComponent(() => import("./pages/roles/roles-page"), "RolesPage"),
});

const types = createRoute({
  getParentRoute: () => frame,
  path: "/types",
  validateSearch: typesSearch,
  component: lazyRouteComponent(() => import("./pages/types/types-page"), "TypesPage"),
});

const type = createRoute({
  getParentRoute: () => frame,
  path: "/types/$type",
  validateSearch: typeSearch,
  component: lazyRouteComponent(() => import("./pages/types/type-page"), "TypePage"),
});

const account = createRoute({
  getParentRoute: () => frame,
  path: "/account",
  validateSearch: accountSearch,
  component: lazyRouteComponent(() => import("./pages/account/account-page"), "AccountPage"),
});

const platform = createRoute({
  getParentRoute: () => frame,
  path: "/platform",
  validateSearch: platformSearch,
  component: lazyRouteComponent(() => import("./pages/platform/platform-page"), "PlatformPage"),
});

export const router = createRouter({
  basepath: CONSOLE_PATH,
  parseSearch,
  stringifySearch,
  defaultPreload: "intent",
  scrollRestoration: true,
  routeTree: root.addChildren([
    signIn,
    reportLink,
    frame.addChildren([
      start,
      group,
      overview,
      alarms,
      live,
      devices,
      deviceImport,
      map,
      explore,
      connectors,
      newConnector,
      connector,
      messages,
      notifications,
      newNotification,
      notification,
      reports,
      newReport,
      report,
      contactPoints,
      newContactPoint,
      contactPoint,
      sharedViews,
      groupSettings,
      people,
      appClients,
      audit,
      jobs,
      job,
      drift,
      unknownDevices,
      device,
      recordTrace,
      messageTrace,
      groups,
      roles,
      types,
      type,
      account,
      platform,
    ]),
  ]),
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
