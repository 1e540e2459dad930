import { catalogue } from "~/i18n";
import de from "./de/clients.json";
import en from "./en/clients.json";
import fr from "./fr/clients.json";

export const t = catalogue("clients", { en, de, fr });
