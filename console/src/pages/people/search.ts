import { textParam, type RawSearch } from "~/search";

export interface PeopleSearch {
  // Whose permissions are shown.
  person?: string | undefined;
}

export function peopleSearch(search: RawSearch): PeopleSearch {
  return { person: textParam(search, "person") };
}
