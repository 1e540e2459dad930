import { catalogue } from "~/i18n";
import de from "./de/measurements.json";
import en from "./en/measurements.json";
import fr from "./fr/measurements.json";

export const t = catalogue("measurements", { en, de, fr });
