/**
 * The clauses of AGTP-API that cases are about: their titles, the thirteen requirements of a
 * conforming server, and which cases somebody means who names a section.   AGTP-API §13.1
 */

/** The draft, and its revision, that the cases are written after. */
export const DRAFT = "draft-hood-agtp-api-01";

/** What a conforming server implements, in the draft's order.   AGTP-API §13.1 */
export const REQUIREMENTS: readonly string[] = [
  "the full endpoint primitive",
  "methods validated against the catalog",
  "paths validated against the path grammar",
  "the method policy, enforced at dispatch",
  "the manifest by DISCOVER without Agent-ID, with its versions",
  "the endpoint projection: the handler's type alone",
  "PROPOSE, with the synthesis evaluation",
  "the status codes 404, 405, 459, 460, 261, 262, 263, 463",
  "the semantic block on every endpoint",
  "schemas: inputs strict, outputs permissive",
  "AGTP-Catalog-Warning for deprecated methods",
  "AGTP-Endpoint-Warning from deprecated endpoints",
  "DISCOVER /methods",
];

const TITLES: ReadonlyMap<string, string> = new Map([
  ["3", "Method Catalog"],
  ["4", "Catalog Evolution"],
  ["5", "Path Grammar"],
  ["5.8", "Server Metadata via AGTP Methods"],
  ["5.9", "Reserved DISCOVER Paths"],
  ["5.10", "Legacy DISCOVER target="],
  ["6", "The Endpoint Primitive"],
  ["7", "The Semantic Block"],
  ["8", "Server Manifest"],
  ["9", "Method Policy"],
  ["10", "PROPOSE and Synthesis"],
  ["10.1", "Runtime Contract Negotiation Substrate"],
  ["11", "Status Codes"],
  ["12", "Handler Binding"],
  ["13", "Conformance"],
]);

const CLAUSE = /^(\d{1,2}(?:\.\d{1,2}){0,4})(?:\((\d{1,2})\))?$/;

/** The clauses that a text names: `AGTP-API §5.1, §13.1(3)` is 5.1 and 13.1(3). */
export function clausesIn(text: string): readonly string[] {
  return [...text.matchAll(/§([\d.]*\d(?:\(\d+\))?)/g)].map(([, clause = ""]) => clause);
}

/** A section or requirement as somebody types it: `5.1`, `§5`, `13.1(3)`; undefined: neither. */
export function readClause(text: string): string | undefined {
  const clause = text.replace(/^§/, "");
  return CLAUSE.test(clause) ? clause : undefined;
}

/** Whether a clause is the named one or lies within it. */
export function liesWithin(clause: string, named: string): boolean {
  return clause === named || clause.startsWith(`${named}.`) || clause.startsWith(`${named}(`);
}

/** The number of the requirement that a clause is, of §13.1; undefined: another clause. */
export function requirementOf(clause: string): number | undefined {
  const [, section, number] = CLAUSE.exec(clause) ?? [];
  return section === "13.1" && number !== undefined ? Number(number) : undefined;
}

/** The title of the closest section that has one here. */
export function titleOf(clause: string): string {
  const parts = clause.split(".");
  for (let length = parts.length; length > 0; length -= 1) {
    const title = TITLES.get(parts.slice(0, length).join("."));
    if (title !== undefined) return title;
  }
  return "";
}

/** Sections in the order of the draft. */
export function compareClauses(one: string, other: string): number {
  const left = one.split(/[.()]/).map(Number);
  const right = other.split(/[.()]/).map(Number);
  for (const [index, number] of left.entries()) {
    const difference = number - (right[index] ?? -1);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}
