/**
 * Findings about a manifest, each with a JSON Pointer and a clause; their number is bounded,
 * because a hostile server may cause many.
 */

import { suggest } from "../../base/close-matches.ts";
import { DocumentPlace } from "../../base/document-place.ts";
import { JSON_STYLE } from "../../base/document-style.ts";
import { quoteValue } from "../../base/json-value.ts";
import { type Catalog, FLOOR_METHODS, HTTP_VERBS, isMethodName } from "../../catalog/catalog.ts";
import { checkTemplate, type MethodNames, methodNames } from "../../catalog/path-grammar.ts";
import type { Finding } from "../shell/findings.ts";

/** A finding with a JSON Pointer; its rule is a clause of AGTP-API, such as `8.3`. */
export type ManifestFinding = Omit<Finding, "file" | "hint"> & {
  /** An error violates a MUST, or is unreadable; a warning violates a SHOULD. */
  readonly severity: "error" | "warning";
};

export type ReportFinding = (finding: ManifestFinding) => void;

const MAX_FINDINGS = 500;

/** Collects findings; beyond the limit they are only counted. */
export class FindingList {
  readonly #kept: ManifestFinding[] = [];
  #untold = 0;
  #faults = 0;

  /** A bound function, so that it can be passed on. */
  readonly report: ReportFinding = (finding) => {
    if (finding.severity === "error") this.#faults += 1;
    if (this.#kept.length < MAX_FINDINGS) this.#kept.push(finding);
    else this.#untold += 1;
  };

  /** True if any finding is a fault, listed or not. */
  get hasFaults(): boolean {
    return this.#faults > 0;
  }

  /** The listed findings; the last one counts the others. */
  list(): readonly ManifestFinding[] {
    if (this.#untold === 0) return this.#kept;
    const severity = this.hasFaults ? "error" : "warning";
    const message = `${this.#untold} more findings are not listed`;
    return [...this.#kept, { severity, key: "", rule: "8.2", message }];
  }
}

/** The place of the whole manifest, under the clause on manifests. */
export function manifestPlace(value: unknown, report: ReportFinding): DocumentPlace {
  return new DocumentPlace(
    value,
    { file: "", key: "", name: "", clause: "8.2" },
    {
      style: JSON_STYLE,
      report({ severity = "error", key, clause: rule, message }) {
        report({ severity, key, rule, message });
        return true;
      },
    },
  );
}

/** Warns of members that the draft does not define: other implementations ignore them. */
export function warnOfOthers(place: DocumentPlace, known: readonly string[]): void {
  for (const name of place.names) {
    if (known.includes(name)) continue;
    const hint = suggest(name, known);
    place.at(name).warn(`is no member of the draft${hint === undefined ? "" : `, ${hint}`}`);
  }
}

const HTTP: readonly string[] = HTTP_VERBS;
const FLOOR: readonly string[] = FLOOR_METHODS;

/** The method names that this manifest may use.   AGTP-API §3.2, §3.3, §5.1 */
export interface ManifestVocabulary {
  /** Undefined if the manifest's catalog is not available. */
  readonly catalog: Catalog | undefined;
  readonly custom: ReadonlySet<string>;
  /** The names that are not allowed as path segments. */
  readonly names: MethodNames;
}

/** Creates the vocabulary of a manifest with these methods of its own. */
export function createVocabulary(
  catalog: Catalog | undefined,
  custom: readonly string[],
): ManifestVocabulary {
  const names =
    catalog === undefined
      ? new Set([...FLOOR, ...HTTP, ...custom.filter(isMethodName)].map((one) => one.toLowerCase()))
      : methodNames(catalog, custom);
  return { catalog, custom: new Set(custom), names };
}

/** Returns true for an HTTP verb, which only `legacy` and `aliases` may name. */
export function isHttpVerb(name: string): boolean {
  return HTTP.includes(name);
}

/** Returns true for one of the eighteen floor methods. */
export function isFloorMethod(name: string): boolean {
  return FLOOR.includes(name);
}

/** Reads a method's name: well-formed, in the catalog, and not an HTTP verb. */
export function readMethod(
  place: DocumentPlace,
  vocabulary: ManifestVocabulary,
): string | undefined {
  const method = place.text();
  if (method === undefined) return undefined;
  if (!isMethodName(method)) return refuseName(place, method);
  if (isHttpVerb(method)) {
    place.under("3.6").fail(`${quoteValue(method)} is a legacy verb, which no definition may use`);
    return undefined;
  }
  const { catalog, custom } = vocabulary;
  if (catalog === undefined || catalog.has(method) || custom.has(method)) return method;
  const fault = `is neither in the catalog ${catalog.version} nor among custom_methods`;
  place.under("6.4").fail(`${quoteValue(method)} ${fault}`);
  return undefined;
}

/** Reports an invalid method name. */
export function refuseName(place: DocumentPlace, name: string): undefined {
  const expected = "expected 3 to 32 letters A to Z";
  return place.under("3.2").fail(`${quoteValue(name)} is no method name, ${expected}`);
}

/** Reads a path template. */
export function readTemplate(
  place: DocumentPlace | undefined,
  { names }: ManifestVocabulary,
): string | undefined {
  const path = place?.text();
  const fault = path === undefined ? undefined : checkTemplate(path, names);
  return fault === undefined ? path : place?.under("5.1").fail(fault.message);
}
