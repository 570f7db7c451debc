/**
 * `agtpd doctor`: examines a deployment and prints its findings with their remedies. A check that
 * fails does not prevent the others. The exit code is 0 if there is nothing but notes, 1 if there
 * are other findings, 2 when the deployment could not be read, or a check could not be made and the
 * others found nothing beyond notes.
 */
import { resolve } from "node:path";
import pc from "picocolors";
import { reasonOf } from "../../base/thrown.ts";
import { type Command, command } from "../shell/command.ts";
import {
  countFindings,
  describeCounts,
  type Finding,
  printProblems,
  type Severity,
  severityMark,
} from "../shell/findings.ts";
import { printJson } from "../shell/print-json.ts";
import { defuseLine, type Output } from "../shell/terminal.ts";
import { type Check, loadSubject, type Observation, type Subject } from "./check.ts";
import { CERTIFICATES_CHECKS } from "./checks/certificates.ts";
import { DATABASE_CHECKS } from "./checks/database.ts";
import { FILES_CHECKS, KEYS_CHECKS } from "./checks/files.ts";
import { IDENTITY_CHECKS } from "./checks/identity.ts";
import { MACHINE_CHECKS } from "./checks/machine.ts";
import { SERVED_CHECKS } from "./checks/served.ts";
import { STATE_CHECKS } from "./checks/state.ts";
import { askDatabase, type Machine, thisMachine } from "./machine.ts";

const NOTES = `
Nothing is written or started, and nothing is asked over the network but the database of [store],
for some seconds at most. Problems for which a daemon would not start
are "agtpd --check"'s; with one of them there is nothing to look at.

Examples:
  agtpd doctor
  agtpd doctor --config /srv/shop/agtp-server.toml --json
  agtpd doctor --host 0.0.0.0          what would be wrong if it listened there
  agtpd doctor --offline               on a copy, or where the database is not to be had

Exit codes: 0 nothing but notes, 1 there are errors or warnings, 2 it could not be asked.`;

/** Creates the command for a machine. */
export function doctorCommand(machine: Machine = thisMachine()): Command {
  return command({
    name: "agtpd doctor",
    description: "Says what a careful operator would look at, each with its remedy.",
    options: {
      "--config <file>": { help: "configuration file", default: "agtp-server.toml" },
      "--host <host>": "address to listen on, instead of [server] host",
      "--offline": "do not ask the database of [store]",
      "--json": "print JSON",
    },
    notes: NOTES,
    run: async ({ config, host, offline = false, json = false }, terminal) => {
      const loaded = loadSubject({
        configPath: resolve(terminal.directory, config),
        overrides: host === undefined ? {} : { host },
        environment: terminal.environment,
        machine,
      });
      if (loaded.subject === undefined) {
        printProblems(loaded.problems, terminal.err, "agtpd doctor");
        terminal.err.write("agtpd doctor: nothing else was looked at\n");
        if (json) printJson({ ok: false, problems: loaded.problems }, terminal.out);
        return 2;
      }
      const { subject } = loaded;
      const database = offline ? undefined : await askDatabase(subject.config, machine);
      const examination = runChecks({ ...subject, database }, CHECKS);
      if (json) printJson(toJson(examination, config), terminal.out);
      else printForPeople(examination, config, terminal.out);
      return exitCodeOf(examination);
    },
  });
}

function exitCodeOf({ findings, unasked }: Examination): number {
  if (findings.some(({ severity }) => severity !== "note")) return 1;
  return unasked.length === 0 ? 0 : 2;
}

function toJson({ asked, findings, unasked }: Examination, config: string): object {
  const counts = countFindings(findings).map(([severity, count]) => [`${severity}s`, count]);
  return {
    ok: unasked.length === 0 && findings.every(({ severity }) => severity === "note"),
    config,
    summary: { checks: asked.length, ...Object.fromEntries(counts), unasked: unasked.length },
    checks: asked.map(({ id, asks }) => ({ id, asks })),
    findings: findings.map(({ rule: id, severity, file, key, message, hint: remedy }) => {
      return { id, severity, file, key, message, remedy };
    }),
    unasked,
  };
}

function printForPeople(
  { asked, findings, unasked }: Examination,
  config: string,
  out: Output,
): void {
  const { dim, yellow } = pc.createColors(out.hasColour);
  for (const { severity, rule, file, key, message, hint = "" } of findings) {
    const place = [file, key].filter((part) => part !== "").join(": ");
    const where = place === "" ? "" : `${defuseLine(place)}: `;
    out.write(`${severityMark(severity, out)}  ${where}${defuseLine(message)}\n`);
    out.write(`         ${dim("->")} ${defuseLine(hint)}  ${dim(`[${rule}]`)}\n`);
  }
  for (const { id, reason } of unasked) {
    out.write(`${yellow("unasked")}  ${id}: ${defuseLine(reason)}\n`);
  }
  const missed = unasked.length === 0 ? [] : [`${unasked.length} could not be asked`];
  const found = [...describeCounts(findings), ...missed];
  const summary = [`${asked.length} checks`, ...(found.length === 0 ? ["nothing found"] : found)];
  out.write(`${defuseLine(config)}: ${summary.join(", ")}\n`);
}

/** Every check, from access to storage. docs/doctor.md explains each. */
export const CHECKS: readonly Check[] = [
  ...CERTIFICATES_CHECKS,
  ...KEYS_CHECKS,
  ...IDENTITY_CHECKS,
  ...SERVED_CHECKS,
  ...STATE_CHECKS,
  ...DATABASE_CHECKS,
  ...FILES_CHECKS,
  ...MACHINE_CHECKS,
];

interface Examination {
  readonly asked: readonly Check[];
  /** The findings, most serious first, then in the order of the checks. */
  readonly findings: readonly Finding[];
  readonly unasked: readonly Unasked[];
}

interface Unasked {
  readonly id: string;
  readonly reason: string;
}

const RANK: Readonly<Record<Severity, number>> = { error: 0, warning: 1, note: 2 };
/** The maximum number of findings of one check: thousands of files may have the same fault. */
const MAX_OF_A_CHECK = 50;

/** Runs checks in sequence. */
export function runChecks(subject: Subject, checks: readonly Check[]): Examination {
  const findings: Finding[] = [];
  const unasked: Unasked[] = [];
  for (const check of checks) {
    try {
      const observed = check.look(subject).toSorted(bySeverity);
      findings.push(...bound(observed).map((observation) => ({ rule: check.id, ...observation })));
    } catch (error) {
      unasked.push({ id: check.id, reason: reasonOf(error) });
    }
  }
  return { asked: checks, findings: findings.toSorted(bySeverity), unasked };
}

type Ranked = Pick<Finding, "severity">;

function bySeverity(left: Ranked, right: Ranked): number {
  return RANK[left.severity] - RANK[right.severity];
}

function bound(observed: readonly Observation[]): readonly Observation[] {
  const next = observed[MAX_OF_A_CHECK];
  if (next === undefined) return observed;
  const message = `${observed.length - MAX_OF_A_CHECK} more findings of this kind are not listed`;
  return [...observed.slice(0, MAX_OF_A_CHECK), { ...next, file: "", key: "", message }];
}
