import { queryOptions } from "@tanstack/react-query";
import { api, read } from "~/api/client";

const LIMIT = 1_000;

export const rolesQuery = queryOptions({
  queryKey: ["roles"],
  queryFn: ({ signal }) => read(api.GET("/group/roles", { params: { query: { limit: LIMIT } }, signal })),
  staleTime: 30_000,
});

export const permissionsQuery = queryOptions({
  queryKey: ["permissions"],
  queryFn: ({ signal }) => read(api.GET("/permission", { params: { query: { limit: LIMIT } }, signal })),
  staleTime: Infinity,
});
