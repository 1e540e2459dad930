import { catalogue } from "~/i18n";
import de from "./de/account.json";
import en from "./en/account.json";
import fr from "./fr/account.json";

export const t = catalogue("account", { en, de, fr });
