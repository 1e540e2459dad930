// The files of one device out of those of its maker: its own, what that names, and what those name.
// The service understands them; here only words are compared. Pure.
export type Files = Readonly<Record<string, string>>;

export const FILES_MAX = 64;
const SUFFIXES = [".toml", ".yaml", ".yml", ".js", ".json"];
const DEVICE = { toml: /^\s*\[device\]/m, yaml: /^firmwareVersions:/m, yml: /^firmwareVersions:/m };

export function isOfDevice(path: string): boolean {
  return SUFFIXES.some((suffix) => path.endsWith(suffix));
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function stemOf(path: string): string {
  return nameOf(path).replace(/\.[^.]*$/, "");
}

function suffixOf(path: string): string {
  return path.slice(path.lastIndexOf(".") + 1);
}

// Paths of devices by the name of each.
export function listDevices(files: Files): ReadonlyMap<string, string> {
  const found = Object.entries(files).filter(([path, text]) => DEVICE[suffixOf(path) as keyof typeof DEVICE]?.test(text));
  return new Map(found.map(([path]) => [stemOf(path), path]));
}

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/") + 1);
}

// All files if there is no device among them: a codec alone makes a type, too.
export function chooseFiles(files: Files, device: string): Files {
  const devices = listDevices(files);
  const chosen = devices.get(device);
  if (chosen === undefined) return files;
  const home = folderOf(chosen).replace(/devices\/$/, "");
  const others = new Set(devices.values());
  const near = Object.keys(files).filter((path) => path.startsWith(home) && !others.has(path));
  const taken = new Set([chosen]);
  const waiting = [chosen];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const words = new Set(suffixOf(path) === "js" ? ["decode", "encode"].map((verb) => `test_${verb}_${stemOf(path ?? "")}.json`) : (files[path] ?? "").match(/[\w.+-]+/g));
    for (const other of near) {
      const isNamed = words.has(nameOf(other)) || (/^ya?ml$/.test(suffixOf(other)) && words.has(stemOf(other)));
      if (taken.has(other) || (!isNamed && nameOf(other) !== "vendor.toml")) continue;
      taken.add(other);
      waiting.push(other);
    }
  }
  return Object.fromEntries([...taken].sort().map((path) => [path, files[path] ?? ""]));
}
