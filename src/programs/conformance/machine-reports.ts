/**
 * The reports for programs. JSON: every case with its outcome, and the thirteen requirements. JUnit
 * XML for build servers: a suite for each clause; known failures and unmet SHOULDs count as skipped
 * there, with their message.
 */
import { VERSION } from "../../base/version.ts";
import { defuse } from "../shell/terminal.ts";
import type { ConformanceCase } from "./case.ts";
import { DRAFT, REQUIREMENTS, titleOf } from "./clauses.ts";
import {
  byClause,
  type CaseVerdict,
  countStandings,
  type Failure,
  isConforming,
  type RunVerdict,
} from "./verdict.ts";

/** Builds the report in the form that docs/conformance.md describes. */
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

/** Describes a case without running it. */
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
    reason: outcome.kind === "skipped" ? outcome.reason : undefined,
    known_reason: knownReason,
    failure: outcome.kind === "failed" ? failureRecord(outcome.failure) : undefined,
  };
}

function failureRecord({ line, differences, request, expected, got }: Failure): object {
  return { line, differences, request, expected, got };
}

function summaryOf(verdicts: readonly CaseVerdict[]): object {
  const counts = Object.entries(countStandings(verdicts));
  const named = counts.map(([standing, count]) => [standing.replaceAll("-", "_"), count]);
  return { total: verdicts.length, ...Object.fromEntries(named) };
}

/** Characters that XML 1.0 cannot represent, lone surrogates included. */
const NOT_XML =
  /[\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** Builds the text of the XML file. */
export async function junitReport({ uri, verdicts }: RunVerdict): Promise<string> {
  // Loaded on demand, because only this report needs it.
  const { create } = await import("xmlbuilder2");
  const root = create({ version: "1.0", encoding: "UTF-8" }).ele("testsuites", {
    name: xmlText(`agtp-conformance ${uri}`),
    ...totals(verdicts),
  });
  for (const [clause, members] of byClause(verdicts)) {
    const name = `§${clause} ${titleOf(clause)}`.trim();
    const suite = root.ele("testsuite", { name, ...totals(members) });
    for (const verdict of members) {
      const { case: one, durationMs } = verdict;
      const test = suite.ele("testcase", {
        name: xmlText(`${one.name}: ${one.title}`),
        classname: `agtp-api.${clause}`,
        time: seconds(durationMs),
      });
      const { element, message, text } = elementOf(verdict);
      if (element !== undefined)
        test.ele(element, { message: xmlText(message) }).txt(xmlText(text));
    }
  }
  return `${root.end({ prettyPrint: true })}\n`;
}

function totals(verdicts: readonly CaseVerdict[]): Readonly<Record<string, string>> {
  const { failed, skipped, advised, "known-failing": known } = countStandings(verdicts);
  const durationMs = verdicts.reduce((sum, verdict) => sum + verdict.durationMs, 0);
  return {
    tests: String(verdicts.length),
    failures: String(failed),
    errors: "0",
    skipped: String(skipped + advised + known),
    time: seconds(durationMs),
  };
}

function elementOf({ outcome, standing, knownReason }: CaseVerdict) {
  if (outcome.kind === "passed") return { message: "", text: "" };
  if (outcome.kind === "skipped") return { element: "skipped", message: outcome.reason, text: "" };
  const { differences, request, expected, got } = outcome.failure;
  const text = [
    ...differences,
    ...blockOf("sent", request),
    ...blockOf("expected", expected),
    ...blockOf("got", got),
  ].join("\n");
  if (standing === "failed") return { element: "failure", message: differences[0], text };
  const why = standing === "advised" ? "the draft says SHOULD" : `known to fail: ${knownReason}`;
  return { element: "skipped", message: `${why}; ${differences[0]}`, text };
}

function blockOf(name: string, text: string): readonly string[] {
  return text === "" ? [] : ["", `${name}:`, text];
}

function xmlText(text: string): string {
  return defuse(text).replace(NOT_XML, "\ufffd");
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}
