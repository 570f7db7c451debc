/** Findings about a manifest: bounded, because the server that serves it may be hostile. */
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
