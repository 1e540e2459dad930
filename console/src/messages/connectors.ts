import { catalogue } from "~/i18n";
import de from "./de/connectors.json";
import en from "./en/connectors.json";
import fr from "./fr/connectors.json";

export const t = catalogue("connectors", { en, de, fr });
