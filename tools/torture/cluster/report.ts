/** Runs the torture of a cluster, and reports its progress. */
import type { Terminal } from "../../../src/programs/shell/terminal.ts";
import { findPostgres } from "../../find-postgres.ts";
import { type ClusterOptions, tortureCluster } from "./cluster.ts";

type ReportOptions = Pick<ClusterOptions, "program" | "seconds" | "faults" | "plan"> & {
  /** Default: random. */
  readonly seed?: number | undefined;
};

/** Runs three daemons and their database; without PostgreSQL the test fails. */
export async function reportCluster(
  options: ReportOptions,
  out: Terminal["out"],
): Promise<boolean> {
  const postgres = findPostgres();
  if (postgres === undefined) {
    out.write("cluster  NOT RUN: there is no PostgreSQL (set POSTGRES_BIN to its programs)\n");
    return false;
  }
  const {
    program,
    seconds,
    faults,
    plan,
    seed = 1 + Math.floor(Math.random() * 999_999),
  } = options;
  out.write(`cluster  seed ${seed}\n`);
  const say = (line: string): void => void out.write(`${line}\n`);
  const outcome = await tortureCluster({ seconds, faults, plan, seed, postgres, program, say });
  for (const one of outcome.contradictions.slice(0, 50)) out.write(`  ${one}\n`);
  const { length } = outcome.contradictions;
  const verdict = length === 0 ? "held" : `FAILED: ${length} contradictions, with seed ${seed}`;
  const counts = `${outcome.faults} faults, ${outcome.requests} requests, ${outcome.records} records`;
  out.write(`cluster  ${counts}  ${verdict}\n`);
  return length === 0;
}
