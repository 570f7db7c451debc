/** Asks the database of a deployment, where it has one, for what the checks look at. */
import type { Config } from "../../app/config/config.ts";
import type { DatabaseAnswer } from "../../state/postgres/survey.ts";
import type { Machine } from "./machine.ts";

/** The age, in days, that is reckoned with where nothing bounds the records. */
export const DEFAULT_AGE = 30;

/** Undefined: it has files of its own. */
export async function askDatabase(
  { store, attribution }: Pick<Config, "store" | "attribution">,
  machine: Machine,
): Promise<DatabaseAnswer | undefined> {
  const { url, schema, ca } = store;
  if (store.driver !== "postgres" || url === undefined) return undefined;
  const limits = attribution.retention ?? { days: DEFAULT_AGE };
  return machine.surveyDatabase({ url, schema, ca }, limits, machine.now);
}
