// The page of a link to a shared view, with a router of its own that knows no other page: others may
// embed it, and nothing in it leads to what only the signed-in person may see.
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, type RegisteredRouter } from "@tanstack/react-router";
import { CONSOLE_PATH } from "./base-path";
import { parseSearch, stringifySearch, textParam, type RawSearch } from "./search";

const PATH = `${CONSOLE_PATH}/shared/`;

export const isSharedPage = location.pathname.startsWith(PATH);

const root = createRootRoute({
  // The zone of its times, and the colours, which whoever embeds it may choose.
  validateSearch: (search: RawSearch) => ({ tz: textParam(search, "tz"), theme: textParam(search, "theme") }),
});

const shared = createRoute({
  getParentRoute: () => root,
  path: "/shared/$shareId",
  component: lazyRouteComponent(() => import("./pages/shared/shared-page"), "SharedPage"),
});

// Screens are typed with the router of the console.
export const sharedRouter = createRouter({ basepath: CONSOLE_PATH, parseSearch, stringifySearch, routeTree: root.addChildren([shared]) }) as unknown as RegisteredRouter;
