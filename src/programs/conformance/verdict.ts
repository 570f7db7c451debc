/** Verdicts on the cases of one run: the facts that every form of report is made from. */
import { addUnder } from "../../base/listed.ts";
import type { ConformanceCase } from "./case.ts";

/** How a case that was looked at ended. */
export type Outcome =
  | { readonly kind: "passed" }
  | { readonly kind: "failed"; readonly failure: Failure }
  | { readonly kind: "skipped"; readonly reason: string };

/** Where a server did something else than a case expects, in its own words. */
export interface Failure {
  /** The line of the exchange in the case's file; 0 when nothing was asked. */
  readonly line: number;
  /** Every difference, the first of them enough for a summary. */
  readonly differences: readonly [string, ...string[]];
  /** As it was sent, as it should have been answered, and as it was. */
  readonly request: string;
  readonly expected: string;
  readonly got: string;
  /** The server did not answer at all. */
  readonly isSilence: boolean;
}

/**
 * All meanings of an outcome for the run, in the order of a summary. `advised`: the draft says SHOULD; the
 * two of known cases: it fails and is listed as known to, or is listed and passes.
 */
export const STANDINGS = [
  "passed",
  "failed",
  "advised",
  "known-failing",
  "no-longer-failing",
  "skipped",
] as const;
export type Standing = (typeof STANDINGS)[number];

export interface CaseVerdict {
  readonly case: ConformanceCase;
  readonly outcome: Outcome;
  readonly standing: Standing;
  readonly knownReason: string | undefined;
  readonly durationMs: number;
}

export interface RunVerdict {
  /** The server as the command line names it. */
  readonly uri: string;
  /** The server's own facts; undefined where it has none. */
  readonly server: ServerFacts;
  readonly verdicts: readonly CaseVerdict[];
}

/** From the manifest. */
export interface ServerFacts {
  readonly serverId?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly catalogVersion?: string | undefined;
}

/** How many cases have each standing. */
export function countStandings(
  verdicts: readonly CaseVerdict[],
): Readonly<Record<Standing, number>> {
  const counts = Object.fromEntries(STANDINGS.map((one) => [one, 0])) as Record<Standing, number>;
  for (const { standing } of verdicts) counts[standing] += 1;
  return counts;
}

/** Tells whether the server does what was asked about, but for what is known. */
export function isConforming({ verdicts }: RunVerdict): boolean {
  return verdicts.every(({ standing }) => standing !== "failed");
}

/** The cases clause by clause, both in the order of the run. */
export function byClause(
  verdicts: readonly CaseVerdict[],
): ReadonlyMap<string, readonly CaseVerdict[]> {
  const sections = new Map<string, CaseVerdict[]>();
  for (const verdict of verdicts) addUnder(sections, verdict.case.clauses[0], verdict);
  return sections;
}
