// What something is called; its id where the name is missing, or made of spaces: a link that nobody
// sees leads nowhere.
export function nameOr(name: string | null | undefined, id: string): string {
  return name?.trim() ? name : id;
}
