/**
 * The environment of a task's program: the little that any program needs, what the manifest declares,
 * and the credentials that it presents. Nothing else of the daemon's own gets there.
 */
import type { Environment } from "../../../base/environment.ts";
import { definedOf } from "../governance/value-source.ts";

const PASSED_ON = ["PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "USER", "LOGNAME"];

/** Later sources win. */
export function childEnvironment(
  env: Environment,
  declared: Readonly<Record<string, string>>,
  presented: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const passed = Object.entries(definedOf(env)).filter(
    ([name]) => PASSED_ON.includes(name) || name.startsWith("LC_"),
  );
  return { ...Object.fromEntries(passed), ...declared, ...presented };
}
