/**
 * Asks every question of the doctor. A question that cannot be asked keeps none of the others from
 * being asked.
 */
import { reasonOf } from "../../base/thrown.ts";
import type { Finding, Severity } from "../shell/findings.ts";
import type { Check, Observation } from "./check.ts";
import { AGENTS_CHECKS } from "./checks/agents.ts";
import { CERTIFICATES_CHECKS } from "./checks/certificates.ts";
import { DATABASE_CHECKS } from "./checks/database.ts";
import { FILES_CHECKS } from "./checks/files.ts";
import { IDENTITY_CHECKS } from "./checks/identity.ts";
import { KEYS_CHECKS } from "./checks/keys.ts";
import { MACHINE_CHECKS } from "./checks/machine.ts";
import { SERVED_CHECKS } from "./checks/served.ts";
import { STATE_CHECKS } from "./checks/state.ts";
import { TRANSPORT_CHECKS } from "./checks/transport.ts";
import type { Subject } from "./subject.ts";

/** Every question, from who can get in to what is kept. docs/doctor.md explains each. */
export const CHECKS: readonly Check[] = [
  ...CERTIFICATES_CHECKS,
  ...KEYS_CHECKS,
  ...IDENTITY_CHECKS,
  ...AGENTS_CHECKS,
  ...SERVED_CHECKS,
  ...TRANSPORT_CHECKS,
  ...STATE_CHECKS,
  ...DATABASE_CHECKS,
  ...FILES_CHECKS,
  ...MACHINE_CHECKS,
];

/** The outcome of the checks. */
export interface Examination {
  readonly asked: readonly Check[];
  /** The most serious first, then in the order of the checks. */
  readonly findings: readonly Finding[];
  /** Questions that could not be asked, and why. */
  readonly unasked: readonly Unasked[];
}

/** A question that could not be asked. */
interface Unasked {
  readonly id: string;
  readonly reason: string;
}

const RANK: Readonly<Record<Severity, number>> = { error: 0, warning: 1, note: 2 };
/** A deployment may have thousands of files with the same fault; nobody reads that many. */
const MAX_OF_A_CHECK = 50;

/** Runs checks one after another. */
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
