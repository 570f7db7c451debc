/**
 * Whether the clock can be right, by what is on the disk: everything there was made earlier. A wrong
 * clock dates records wrongly, and believes certificates and tokens that are over.
 */
import { listTree } from "../file-tree.ts";
import type { Check, Observation } from "../finding.ts";
import { stateDirectory } from "../state-places.ts";
import { nameOf } from "../subject.ts";

/** No clock that is right shows an earlier time than this program was written at. */
const EARLIEST = Date.parse("2026-01-01T00:00:00Z");
/** Other machines may have written files, agents' issuers among them. */
const TOLERANCE_MS = 300_000;
const REMEDY = "have the clock set by NTP, and look at what was signed meanwhile";

/** The check `clock`. */
export const clock: Check = {
  id: "clock",
  asks: "can the clock be right?",
  look: (subject) => {
    const { machine, config, agents } = subject;
    const { now } = machine;
    if (now < EARLIEST) {
      const message = `the clock says ${new Date(now).toISOString()}, which is long over`;
      return [{ severity: "error", file: "", key: "", message, remedy: REMEDY }];
    }
    const newest = listTree(stateDirectory(config))
      .map((path) => ({ path, at: machine.status(path)?.modifiedAt ?? 0 }))
      .reduce((left, right) => (right.at > left.at ? right : left), { path: "", at: 0 });
    const early: Observation[] = [];
    if (newest.at > now + TOLERANCE_MS) {
      early.push(fromTheFuture(nameOf(subject, newest.path), "", "was written", newest.at, now));
    }
    for (const { file, document } of agents) {
      const issued = Date.parse(String(document["issued_at"]));
      if (issued > now + TOLERANCE_MS) {
        early.push(fromTheFuture(file, "issued_at", "was issued", issued, now));
      }
    }
    return early;
  },
};

function fromTheFuture(
  file: string,
  key: string,
  what: string,
  at: number,
  now: number,
): Observation {
  const [then, today] = [at, now].map((time) => new Date(time).toISOString());
  const message = `${what} at ${then}, and the clock says ${today}`;
  return { severity: "warning", file, key, message, remedy: REMEDY };
}
