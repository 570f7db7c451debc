/**
 * A conformance case: exchanges that a conforming server answers as they say, and what has to be
 * known of a server before it can be asked. Decides what the notes of a transcript mean.
 *
 *     # AGTP-API §5.1, §13.1(3)            the clauses; the first one is where it is reported
 *     # title: A path that ends in "/" is refused with 460
 *     # needs: agent, synthesis            skipped where one of these is not there; see needs.ts
 *     # level: should                      the draft says SHOULD: reported, and fails nothing
 *     # changes: state                     asked only where changes of state are allowed
 */
import type { Problem } from "../../base/problem.ts";
import { clausesIn, readClause, requirementOf } from "./clauses.ts";
import { isNeed, type Need } from "./needs.ts";
import { parseTranscript, type Transcript, type TranscriptExchange } from "./transcript.ts";

/** How binding what a case asks for is. */
type CaseLevel = "must" | "should";

/** One case, ready to be run. */
export interface ConformanceCase {
  /** The file's name without suffix. */
  readonly name: string;
  /** The behaviour of a conforming server, as a sentence. */
  readonly title: string;
  /** Sections, `5.1`; the first one is the case's own. */
  readonly clauses: readonly [string, ...string[]];
  /** The requirements that it is about, of the thirteen of §13.1. */
  readonly requirements: readonly number[];
  readonly level: CaseLevel;
  readonly needs: readonly Need[];
  readonly changesState: boolean;
  readonly exchanges: readonly TranscriptExchange[];
}

/** A case, unless its text is none. */
interface CaseResult {
  readonly case: ConformanceCase | undefined;
  readonly problems: readonly Problem[];
}

const NOTES: ReadonlySet<string> = new Set(["title", "needs", "level", "changes"]);

/** Reads the text of a case; problems name it `file`. */
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
  if (unknown !== undefined) faults.push(`"${unknown}" is nothing that a case can need`);
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
