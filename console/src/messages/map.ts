import { catalogue } from "~/i18n";
import de from "./de/map.json";
import en from "./en/map.json";
import fr from "./fr/map.json";

export const t = catalogue("map", { en, de, fr });
