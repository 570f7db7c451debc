/**
 * The clauses of AGTP-API that cases test: their titles, the thirteen requirements of a conforming
 * server, and the selection of cases by section.   AGTP-API §13.1
 */

/** The draft and revision that the cases are based on. */
export const DRAFT = "draft-hood-agtp-api-01";

/** The requirements of a conforming server, in the draft's order.   AGTP-API §13.1 */
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
  ["3.1", "Catalog Structure"],
  ["3.2", "Method Rules"],
  ["3.3", "Custom Methods"],
  ["3.6", "Legacy Verb Support"],
  ["4.3", "Manifest Catalog Declaration"],
  ["4.4", "Runtime Deprecation Signaling"],
  ["4.8", "Multi-Version Catalog Support"],
  ["5.1", "Path Rules"],
  ["5.2", "Path Grammar ABNF"],
  ["5.3", "Permissiveness"],
  ["5.4", "Path Pattern Matching"],
  ["5.5", "Query Strings"],
  ["5.6", "Fragments"],
  ["5.8", "Server Metadata via AGTP Methods"],
  ["5.8.1", "DISCOVER /genesis"],
  ["5.8.2", "DISCOVER /agents"],
  ["5.8.3", "DISCOVER /"],
  ["5.8.4", "DISCOVER /tools"],
  ["5.8.5", "DISCOVER /apis"],
  ["5.8.6", "DISCOVER /patterns"],
  ["5.8.7", "DISCOVER /contracts"],
  ["5.10", "Legacy DISCOVER target= Body Form"],
  ["6.1", "Endpoint Tiers"],
  ["6.3", "Required Fields"],
  ["6.4", "Field Semantics"],
  ["6.5", "Endpoint Deprecation"],
  ["7.1", "Required Semantic Block Fields"],
  ["8.2", "Manifest Structure"],
  ["8.3", "Server Block"],
  ["8.4", "Methods Inventory"],
  ["8.5", "Agents Disclosure"],
  ["8.6", "Protocol and API Surface"],
  ["8.7", "Policies Block"],
  ["8.8", "Manifest Signature"],
  ["8.9", "Endpoint Projection"],
  ["8.10", "Manifest Retrieval"],
  ["8.11", "Manifest Caching"],
  ["9.2", "Policy Shape"],
  ["9.5", "Discovery"],
  ["10.1", "Runtime Contract Negotiation Substrate"],
  ["10.1.1", "Tier C Resolution"],
  ["10.1.2", "The Four-Lock Dispatcher Gate"],
  ["10.1.3", "Delivery Modes"],
  ["10.1.4", "Contract Scoping and Lifecycle"],
  ["10.1.4.1", "Stale Contract Sweep"],
  ["10.1.5", "Headers and Rate Limiting"],
  ["10.1.6", "Attribution-Record Extension Fields"],
  ["10.3", "Negotiation Flow"],
  ["10.4", "PROPOSE Request Body Shape"],
  ["10.4.2", "Legacy Form"],
  ["10.4.3", "263 Response Body"],
  ["10.6", "Server-Side Synthesis Evaluation"],
  ["11", "Status Codes"],
  ["12.1", "Composition"],
  ["12.3", "External Service"],
  ["13.2", "Validation Timing"],
  ["13.3", "Schema Strictness"],
]);

const CLAUSE = /^(\d{1,2}(?:\.\d{1,2}){0,4})(?:\((\d{1,2})\))?$/;

/** The clauses in a text: `AGTP-API §5.1, §13.1(3)` yields 5.1 and 13.1(3). */
export function clausesIn(text: string): readonly string[] {
  return [...text.matchAll(/§([\d.]*\d(?:\(\d+\))?)/g)].map(([, clause = ""]) => clause);
}

/** Reads a section or requirement as typed: `5.1`, `§5`, `13.1(3)`, `13.1.3`; undefined if it is neither. */
export function readClause(text: string): string | undefined {
  const clause = text.replace(/^§/, "").replace(/^(13\.1)\.(\d+)$/, "$1($2)");
  return CLAUSE.test(clause) ? clause : undefined;
}

/** Returns true if a clause is the named one or lies within it. */
export function liesWithin(clause: string, named: string): boolean {
  return clause === named || clause.startsWith(`${named}.`) || clause.startsWith(`${named}(`);
}

/** The number of the requirement of §13.1 that a clause is; undefined for another clause. */
export function requirementOf(clause: string): number | undefined {
  const [, section, number] = CLAUSE.exec(clause) ?? [];
  return section === "13.1" && number !== undefined ? Number(number) : undefined;
}

/** The title of the closest enclosing section that has one here. */
export function titleOf(clause: string): string {
  const parts = clause.split(".");
  for (let length = parts.length; length > 0; length -= 1) {
    const title = TITLES.get(parts.slice(0, length).join("."));
    if (title !== undefined) return title;
  }
  return "";
}

/** Compares clauses in the order of the draft. */
export function compareClauses(one: string, other: string): number {
  const left = one.split(/[.()]/).map(Number);
  const right = other.split(/[.()]/).map(Number);
  for (const [index, number] of left.entries()) {
    const difference = number - (right[index] ?? -1);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}
