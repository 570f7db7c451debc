/** Checks of the machine: its clock, its runtime, and the programs that the daemon starts. */
import { delimiter, resolve } from "node:path";
import semver from "semver";
import type { McpServerConfig } from "../../../handlers/mcp/read-settings.ts";
import { stateDirectory } from "../../../state/state-directory.ts";
import { type Check, nameOf, type Observation, type Subject } from "../check.ts";
import { listTree } from "../deployment-paths.ts";

/** A correct clock is later than the time at which this program was written. */
const EARLIEST = Date.parse("2026-01-01T00:00:00Z");
/** The tolerance for files that other machines wrote, such as agents' issuers. */
const TOLERANCE_MS = 300_000;
const SET_CLOCK = "have the clock set by NTP, and look at what was signed meanwhile";

/** The checks, in the order in which they run. */
export const MACHINE_CHECKS: readonly Check[] = [
  // The clock is wrong, because files on disk are from its future. A wrong clock misdates records,
  // and accepts expired certificates and tokens.
  {
    id: "clock",
    asks: "can the clock be right?",
    look: (subject) => {
      const { machine, config, agents } = subject;
      const { now } = machine;
      if (now < EARLIEST) {
        const message = `the clock says ${new Date(now).toISOString()}, which is long over`;
        return [{ severity: "error", file: "", key: "", message, hint: SET_CLOCK }];
      }
      const newest = listTree(stateDirectory(config.directory))
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
  },
  // agtpd does not support this runtime, or its maintenance has ended.
  {
    id: "node-version",
    asks: "is the runtime supported?",
    look: ({ machine: { nodeVersion: written, now } }) => {
      const version = semver.parse(written);
      if (version === null) return [];
      if (semver.lt(version, LEAST)) {
        return [
          judgeRuntime("error", `Node.js ${written} is older than ${LEAST}, which agtpd needs`),
        ];
      }
      const end = ENDS.get(version.major);
      if (end !== undefined && Date.parse(`${end}T23:59:59Z`) < now) {
        return [judgeRuntime("note", `Node.js ${version.major} gets no more fixes since ${end}`)];
      }
      if (version.major % 2 === 0) return [];
      return [judgeRuntime("note", `Node.js ${version.major} has no long-term support`)];
    },
  },
  // An MCP server cannot be started: its tools fail, and the daemon runs without them.
  {
    id: "mcp-programs",
    asks: "are the programs of MCP servers there?",
    look: (subject) =>
      subject.config.mcp.servers.flatMap((server, index): readonly Observation[] => {
        const { command } = server;
        if (command === undefined || isStartable({ ...server, command }, subject)) return [];
        const message = `"${command}" is no program that the daemon's user may start`;
        const hint = "install it, or name it by its whole path; it is started again and again";
        const place = { file: subject.configFile, key: `mcp.servers[${index}].command` };
        return [{ severity: "warning", ...place, message, hint }];
      }),
  },
];

/** Returns true if a program can be started, or if that cannot be determined: without modes or a PATH. */
function isStartable(
  { command, cwd, env }: { readonly command: string } & Pick<McpServerConfig, "cwd" | "env">,
  { machine, environment }: Subject,
): boolean {
  if (machine.uid === undefined) return true;
  if (command.includes("/")) return isProgram(resolve(cwd, command), machine);
  const path = env["PATH"] ?? environment["PATH"];
  const places = path?.split(delimiter).map((place) => resolve(cwd, place, command));
  return places === undefined || places.some((place) => isProgram(place, machine));
}

function isProgram(path: string, { status }: Subject["machine"]): boolean {
  const found = status(path);
  return found !== undefined && !found.isDirectory && (found.mode & 0o111) !== 0;
}

function fromTheFuture(
  file: string,
  key: string,
  what: string,
  at: number,
  now: number,
): Observation {
  const [then, today] = [at, now].map((time) => new Date(time).toISOString());
  const message = `${what} at ${then}, and the clock says ${today}`;
  return { severity: "warning", file, key, message, hint: SET_CLOCK };
}

const LEAST = "20.19.0";
/** The end of life of each LTS line, as published. */
const ENDS: ReadonlyMap<number, string> = new Map([
  [20, "2026-04-30"],
  [22, "2027-04-30"],
  [24, "2028-04-30"],
]);

function judgeRuntime(severity: Observation["severity"], message: string): Observation {
  const hint = "install a version with long-term support, and start the daemon again";
  return { severity, file: "", key: "", message, hint };
}
