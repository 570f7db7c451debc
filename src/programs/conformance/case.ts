/**
 * A conformance case: exchanges with the answers of a conforming server, and the needs that a server
 * has to meet for them. Its file is a transcript with these notes:
 *
 *     # AGTP-API §5.1, §13.1(3)            the clauses; it is reported under the first
 *     # title: A path that ends in "/" is refused with 460
 *     # needs: agent, synthesis            skipped if one of these is missing: NEEDS
 *     # level: should                      a SHOULD of the draft: reported, but no failure
 *     # changes: state                     run only if changes of state are allowed
 */

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describeFileError, readBoundedFile } from "../../base/bounded-file.ts";
import { shippedPath } from "../../base/paths.ts";
import type { Problem } from "../../base/problem.ts";
import { clausesIn, compareClauses, readClause, requirementOf } from "./clauses.ts";
import { parseTranscript, type Transcript, type TranscriptExchange } from "./transcript.ts";

/** The needs of cases, worded to complete "this case needs …". */
export const NEEDS = {
  manifest: "a manifest that can be read",
  agent: "an agent to act as (--agent-id)",
  "other-agent": "a second agent (--other-agent-id)",
  scopes: "the scopes that the agent holds (--scope)",
  caller: "discovery without an agent, or an agent (--agent-id)",
  "anonymous-discovery": "policies.anonymous_discovery",
  "closed-discovery": "policies.anonymous_discovery to be off",
  endpoints: "an endpoint in the manifest",
  "hosted-agents": "agents that the manifest discloses",
  "reading-endpoint": "an endpoint that only reads, and that the agent may call (--scope)",
  "typed-endpoint": "such an endpoint whose input can be wrong",
  "required-input": "such an endpoint with required input",
  "query-input": "such an endpoint with input that a query can carry",
  "deprecated-endpoint": "a deprecated endpoint that only reads",
  "scoped-endpoint": "an endpoint that only reads and requires a scope beside those of the agent",
  "known-path": "a registered path, and a method that it is not registered under",
  redirect: "a redirect to an endpoint that only reads",
  alias: "an alias of a method that an endpoint which only reads has",
  catalog: "the catalog of the version that the server uses (--catalog)",
  "deprecated-method": "a deprecated method in the server's catalog",
  "disallowed-method": "a method in policies.methods.disallow",
  "unlisted-method": "policies.methods.allow to be a list",
  "custom-method": "a method of the server's own",
  "refused-legacy": "an HTTP verb that is neither an alias nor opted into",
  "accepted-legacy": "an HTTP verb that is opted into",
  synthesis: "policies.synthesis_enabled",
  "no-synthesis": "policies.synthesis_enabled to be off",
  rcns: "runtime negotiation, as DISCOVER /patterns says it",
  "no-rcns": "runtime negotiation to be off, as DISCOVER /patterns says it",
  proposal: "an endpoint that the server can make (--proposal)",
  "proposal-input": 'input for it ("input" in --proposal)',
} as const;

export type Need = keyof typeof NEEDS;

function isNeed(word: string): word is Need {
  return Object.hasOwn(NEEDS, word);
}

/** One case, ready to be run. */
export interface ConformanceCase {
  /** The file's name without suffix. */
  readonly name: string;
  /** The behaviour of a conforming server, as a sentence. */
  readonly title: string;
  /** Clauses, such as `5.1`; the case is reported under the first one. */
  readonly clauses: readonly [string, ...string[]];
  /** The requirements of §13.1 that the case tests, by number. */
  readonly requirements: readonly number[];
  readonly level: "must" | "should";
  readonly needs: readonly Need[];
  readonly changesState: boolean;
  readonly exchanges: readonly TranscriptExchange[];
}

interface CaseResult {
  readonly case: ConformanceCase | undefined;
  readonly problems: readonly Problem[];
}

const NOTES: ReadonlySet<string> = new Set(["title", "needs", "level", "changes"]);

/** Parses the text of a case; problems name it `file`. */
export function parseCase(text: string, file: string): CaseResult {
  const { transcript, problems } = parseTranscript(text, file);
  if (transcript === undefined) return { case: undefined, problems };
  const faults = [...noteFaults(transcript)];
  const [first, ...rest] = clausesIn(transcript.clause);
  const needs = listOf(transcript.notes.get("needs"));
  if (first === undefined || readClause(first) === undefined) {
    faults.push(`expected a clause, such as "AGTP-API §5.1", got "${transcript.clause}"`);
  }
  const unknown = needs.find((need) => !isNeed(need));
  if (unknown !== undefined) faults.push(`"${unknown}" is none of the needs that a case can name`);
  if (faults.length > 0 || first === undefined) {
    return { case: undefined, problems: faults.map((message) => ({ file, key: "", message })) };
  }
  const clauses: readonly [string, ...string[]] = [first, ...rest];
  return { case: buildCase(transcript, clauses, needs.filter(isNeed)), problems: [] };
}

function buildCase(
  { name, notes, exchanges }: Transcript,
  clauses: readonly [string, ...string[]],
  needs: readonly Need[],
): ConformanceCase {
  return {
    name,
    title: notes.get("title") ?? "",
    clauses,
    requirements: clauses.flatMap((clause) => requirementOf(clause) ?? []),
    level: notes.get("level") === "should" ? "should" : "must",
    needs,
    changesState: notes.has("changes"),
    exchanges,
  };
}

function noteFaults({ notes }: Transcript): readonly string[] {
  const faults = [...notes.keys()]
    .filter((name) => !NOTES.has(name))
    .map((name) => `there is no note "${name}", expected one of ${[...NOTES].join(", ")}`);
  if ((notes.get("title") ?? "") === "") faults.push('expected a note "title"');
  const level = notes.get("level");
  if (level !== undefined && level !== "must" && level !== "should") {
    faults.push(`the level is must or should, got "${level}"`);
  }
  const changes = notes.get("changes");
  if (changes !== undefined && changes !== "state") {
    faults.push(`what a case changes is "state", got "${changes}"`);
  }
  return faults;
}

function listOf(text = ""): readonly string[] {
  return text
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
}

interface LoadedCases {
  readonly cases: readonly ConformanceCase[];
  readonly problems: readonly Problem[];
}

const SUFFIX = ".agtp";
const MAX_CASES = 1000;
const MAX_CASE_BYTES = 65_536;

/** The folder of the cases that ship with the product. */
export function shippedCasesPath(): string {
  return shippedPath("conformance");
}

/** Reads every `.agtp` file of a folder. */
export function loadCases(folder: string): LoadedCases {
  const { names, fault } = listCases(folder);
  if (fault !== undefined) {
    return { cases: [], problems: [{ file: folder, key: "", message: fault }] };
  }
  const cases: ConformanceCase[] = [];
  const problems: Problem[] = [];
  for (const name of names) {
    const { text, fault } = readBoundedFile(join(folder, name), MAX_CASE_BYTES);
    const read =
      text === undefined
        ? { case: undefined, problems: [{ file: name, key: "", message: fault }] }
        : parseCase(text, name);
    problems.push(...read.problems);
    if (read.case !== undefined) cases.push(read.case);
  }
  return { cases: cases.toSorted(inOrder), problems };
}

function listCases(folder: string): {
  readonly names: readonly string[];
  readonly fault?: string;
} {
  try {
    const names = readdirSync(folder).filter((name) => name.endsWith(SUFFIX));
    if (names.length === 0) return { names, fault: `has no case, expected files *${SUFFIX}` };
    if (names.length > MAX_CASES) return { names, fault: `has more than ${MAX_CASES} cases` };
    return { names };
  } catch (error) {
    return { names: [], fault: describeFileError(error) };
  }
}

function inOrder(one: ConformanceCase, other: ConformanceCase): number {
  const order = compareClauses(one.clauses[0], other.clauses[0]);
  return order !== 0 ? order : one.name < other.name ? -1 : 1;
}
