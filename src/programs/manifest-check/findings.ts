/**
 * Findings about a manifest, each under its JSON Pointer and clause: bounded, because the server that
 * serves it may be hostile.
 */
import { suggest } from "../../base/close-matches.ts";
import { DocumentPlace } from "../../base/document-place.ts";
import { JSON_STYLE } from "../../base/document-style.ts";
import type { Finding } from "../shell/findings.ts";

/** A finding under a JSON Pointer; its rule is a clause of AGTP-API: `8.3`. */
export type ManifestFinding = Omit<Finding, "file" | "hint"> & {
  /** An error breaks a MUST, or what cannot be read otherwise; a warning goes against a SHOULD. */
  readonly severity: "error" | "warning";
};

/** Takes in findings. */
export type ReportFinding = (finding: ManifestFinding) => void;

const MAX_FINDINGS = 500;

/** Collects findings; past the limit they are only counted. */
export class FindingList {
  readonly #kept: ManifestFinding[] = [];
  #untold = 0;
  #faults = 0;

  /** Bound, so that it can be handed on. */
  readonly report: ReportFinding = (finding) => {
    if (finding.severity === "error") this.#faults += 1;
    if (this.#kept.length < MAX_FINDINGS) this.#kept.push(finding);
    else this.#untold += 1;
  };

  /** Tells whether a fault was among them, listed or not. */
  get hasFaults(): boolean {
    return this.#faults > 0;
  }

  /** All that are listed; the last one counts the others. */
  list(): readonly ManifestFinding[] {
    if (this.#untold === 0) return this.#kept;
    const severity = this.hasFaults ? "error" : "warning";
    const message = `${this.#untold} more findings are not listed`;
    return [...this.#kept, { severity, key: "", rule: "8.2", message }];
  }
}

/** The whole manifest, judged by the clause on manifests. */
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

/** Warns of members that the draft does not name: they mean nothing to other implementations. */
export function warnOfOthers(place: DocumentPlace, known: readonly string[]): void {
  for (const name of place.names) {
    if (known.includes(name)) continue;
    const hint = suggest(name, known);
    place.at(name).warn(`is no member of the draft${hint === undefined ? "" : `, ${hint}`}`);
  }
}
