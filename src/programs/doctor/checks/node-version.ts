/** Whether the runtime is one that agtpd runs on, and that its makers still mend. */
import semver from "semver";
import type { Check, Observation } from "../finding.ts";

const LEAST = "20.19.0";
/** The last day of each line with long-term support, as its makers published it. */
const ENDS: ReadonlyMap<number, string> = new Map([
  [20, "2026-04-30"],
  [22, "2027-04-30"],
  [24, "2028-04-30"],
]);

/** The check `node-version`. */
export const nodeVersion: Check = {
  id: "node-version",
  asks: "is the runtime supported?",
  look: ({ machine: { nodeVersion: written, now } }) => {
    const version = semver.parse(written);
    if (version === null) return [];
    if (semver.lt(version, LEAST)) {
      return [observe("error", `Node.js ${written} is older than ${LEAST}, which agtpd needs`)];
    }
    const end = ENDS.get(version.major);
    if (end !== undefined && Date.parse(`${end}T23:59:59Z`) < now) {
      return [observe("note", `Node.js ${version.major} gets no more fixes since ${end}`)];
    }
    if (version.major % 2 === 0) return [];
    return [observe("note", `Node.js ${version.major} has no long-term support`)];
  },
};

function observe(severity: Observation["severity"], message: string): Observation {
  const remedy = "install a version with long-term support, and start the daemon again";
  return { severity, file: "", key: "", message, remedy };
}
