import { catalogue } from "~/i18n";
import de from "./de/contacts.json";
import en from "./en/contacts.json";
import fr from "./fr/contacts.json";

export const t = catalogue("contacts", { en, de, fr });
