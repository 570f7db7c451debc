/** The report for programs: every case with its outcome, and the thirteen requirements. */
import { VERSION } from "../../base/version.ts";
import type { ConformanceCase } from "./case.ts";
import { DRAFT, REQUIREMENTS } from "./clauses.ts";
import { type CaseVerdict, countStandings, isConforming, type RunVerdict } from "./verdict.ts";

/** The report as a value, in the form that docs/conformance.md describes. */
export function jsonReport(run: RunVerdict): object {
  const { uri, server, verdicts } = run;
  return {
    suite: { draft: DRAFT, version: VERSION },
    server: {
      uri,
      server_id: server.serverId ?? null,
      agtp_api_version: server.apiVersion ?? null,
      catalog_version: server.catalogVersion ?? null,
    },
    conforming: isConforming(run),
    summary: summaryOf(verdicts),
    requirements: REQUIREMENTS.map((title, index) => {
      const own = verdicts.filter(({ case: one }) => one.requirements.includes(index + 1));
      return { requirement: index + 1, title, ...summaryOf(own) };
    }),
    cases: verdicts.map(caseRecord),
  };
}

/** A case without a run. */
export function describeCase(one: ConformanceCase): object {
  return {
    name: one.name,
    title: one.title,
    clauses: one.clauses,
    requirements: one.requirements,
    level: one.level,
    needs: one.needs,
    changes_state: one.changesState,
  };
}

function caseRecord({
  case: one,
  outcome,
  standing,
  knownReason,
  durationMs,
}: CaseVerdict): object {
  return {
    ...describeCase(one),
    outcome: standing,
    duration_ms: durationMs,
    ...(outcome.kind === "skipped" ? { reason: outcome.reason } : {}),
    ...(knownReason === undefined ? {} : { known_reason: knownReason }),
    ...(outcome.kind === "failed" ? { failure: failureRecord(outcome.failure) } : {}),
  };
}

function failureRecord({ line, differences, request, expected, got }: FailureOf): object {
  return { line, differences, request, expected, got };
}

type FailureOf = Extract<CaseVerdict["outcome"], { kind: "failed" }>["failure"];

function summaryOf(verdicts: readonly CaseVerdict[]): object {
  const counts = Object.entries(countStandings(verdicts));
  const named = counts.map(([standing, count]) => [standing.replaceAll("-", "_"), count]);
  return { total: verdicts.length, ...Object.fromEntries(named) };
}
