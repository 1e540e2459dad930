import { catalogue } from "~/i18n";
import de from "./de/roles.json";
import en from "./en/roles.json";
import fr from "./fr/roles.json";

export const t = catalogue("roles", { en, de, fr });
