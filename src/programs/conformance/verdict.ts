/** The verdicts on the cases of one run, from which every report is made. */
import { addUnder } from "../../base/listed.ts";
import type { ConformanceCase } from "./case.ts";

/** The outcome of a case that was run. */
export type Outcome =
  | { readonly kind: "passed" }
  | { readonly kind: "failed"; readonly failure: Failure }
  | { readonly kind: "skipped"; readonly reason: string };

/** A failure: what a server did differently from the case's expectation. */
export interface Failure {
  /** The line of the exchange in the case's file; 0 if no request was sent. */
  readonly line: number;
  /** Every difference; the first suffices for a summary. */
  readonly differences: readonly [string, ...string[]];
  /** The exchange: the request, the expected response and the actual one. */
  readonly request: string;
  readonly expected: string;
  readonly got: string;
  /** True if the server did not answer at all. */
  readonly isSilence: boolean;
}

/**
 * The standings of outcomes in a run, in the order of a summary. `advised`: an unmet SHOULD; the
 * two of known failures: a listed case that fails, and a listed case that passes.
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
  /** The URI of the server, as on the command line. */
  readonly uri: string;
  /** The server's own statements; undefined if it made none. */
  readonly server: ServerFacts;
  readonly verdicts: readonly CaseVerdict[];
}

/** Facts from the manifest. */
export interface ServerFacts {
  readonly serverId?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly catalogVersion?: string | undefined;
}

/** Counts the cases of each standing. */
export function countStandings(
  verdicts: readonly CaseVerdict[],
): Readonly<Record<Standing, number>> {
  const counts = Object.fromEntries(STANDINGS.map((one) => [one, 0])) as Record<Standing, number>;
  for (const { standing } of verdicts) counts[standing] += 1;
  return counts;
}

/** Returns true if no case failed, known failures aside. */
export function isConforming({ verdicts }: RunVerdict): boolean {
  return verdicts.every(({ standing }) => standing !== "failed");
}

/** Groups the cases by clause, both in the order of the run. */
export function byClause(
  verdicts: readonly CaseVerdict[],
): ReadonlyMap<string, readonly CaseVerdict[]> {
  const sections = new Map<string, CaseVerdict[]>();
  for (const verdict of verdicts) addUnder(sections, verdict.case.clauses[0], verdict);
  return sections;
}
