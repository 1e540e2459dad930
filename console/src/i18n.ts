// The language of the console, and how its messages are looked up. Messages are in src/messages/<language>/<area>.json;
// an area is read by `import { t } from "~/messages/<area>"`. The language is settled before anything is shown,
// and choosing another one loads the page again: so messages may also be constants of a module.
import { createInstance, type FormatterModule } from "i18next";
import { Fragment, createElement, type ReactNode } from "react";
import { preferences } from "./preferences";

export const LANGUAGES = { en: "English", de: "Deutsch", fr: "Français" } as const;
export type Language = keyof typeof LANGUAGES;

type Messages = Readonly<Record<string, string>>;
// `records_one` and `records_other` are read as `records`, with a count.
type KeyOf<M> = keyof M extends infer K ? (K extends `${infer Base}_${"one" | "other"}` ? Base : K) : never;
type Values<V> = Readonly<Record<string, V>>;

export interface Catalogue<Key extends string> {
  (key: Key, values?: Values<string | number | null | undefined>): string;
  // The same with elements in its places.
  rich(key: Key, values: Values<ReactNode>): ReactNode;
}

const browserLanguages: readonly string[] = typeof navigator === "undefined" ? ["en-GB"] : navigator.languages;

function isLanguage(text: string): text is Language {
  return Object.hasOwn(LANGUAGES, text);
}

function chosenLanguage(): Language {
  const wanted = [preferences().language, ...browserLanguages.map((each) => each.split("-")[0] ?? "")];
  return wanted.find(isLanguage) ?? "en";
}

export const language = chosenLanguage();

// Some browsers name what the system is set to, such as en-US@posix, which no number can be written with.
function isLocale(text: string): boolean {
  try {
    return Intl.getCanonicalLocales(text).length === 1;
  } catch {
    return false;
  }
}

// Numbers and dates: as the reader's region writes them, if the browser names one of this language.
export const LOCALE = browserLanguages.find((each) => each.startsWith(`${language}-`) && isLocale(each)) ?? (language === "en" ? "en-GB" : language);

if (typeof document !== "undefined") {
  document.documentElement.lang = language;
  document.documentElement.dir = "ltr";
}

const PLACE = /\{\{(\w+)\}\}/;

// Numbers in messages, as the reader writes them.
const format: FormatterModule = {
  type: "formatter",
  init: () => undefined,
  add: () => undefined,
  addCached: () => undefined,
  format: (value: unknown) => (typeof value === "number" ? value.toLocaleString(LOCALE) : String(value ?? "")),
};

const instance = createInstance().use(format);
void instance.init({
  lng: language,
  fallbackLng: "en",
  resources: {},
  initAsync: false,
  keySeparator: false,
  nsSeparator: false,
  // React escapes what it shows.
  interpolation: { escapeValue: false, alwaysFormat: true },
});

// French counts a million as many, and writes it like any other number.
function withMany(messages: Messages): Messages {
  const others = Object.entries(messages).filter(([key]) => key.endsWith("_other"));
  return { ...Object.fromEntries(others.map(([key, text]) => [key.replace(/_other$/, "_many"), text])), ...messages };
}

export function catalogue<M extends Messages>(area: string, messages: Readonly<Record<Language, M>>): Catalogue<KeyOf<M> & string> {
  for (const [name, own] of Object.entries(messages)) instance.addResourceBundle(name, area, withMany(own));
  const lookUp = instance.getFixedT(null, area);
  const t = (key: string, values: Values<string | number | null | undefined> = {}) => lookUp(key, values);
  const rich = (key: string, values: Values<ReactNode>) => {
    const numbers = Object.fromEntries(Object.entries(values).filter(([, value]) => typeof value === "number"));
    // Places stay as they are, but for numbers, which decide on the plural.
    const parts = lookUp(key, { ...numbers, skipInterpolation: true }).split(PLACE);
    const nodes = parts.map((part, at) => {
      const value = at % 2 ? values[part] : part;
      return createElement(Fragment, { key: at }, typeof value === "number" ? value.toLocaleString(LOCALE) : value);
    });
    return createElement(Fragment, null, nodes);
  };
  return Object.assign(t, { rich });
}
