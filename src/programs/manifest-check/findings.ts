/**
 * What a manifest was found to have wrong, each with its JSON Pointer and the clause that says so.
 * Bounded, because whoever serves the manifest may be hostile.
 */

/** A fault breaks a MUST, or what cannot be read otherwise; a warning goes against a SHOULD. */
export type Severity = "fault" | "warning";

/** One thing that is wrong. */
export interface Finding {
  readonly severity: Severity;
  /** JSON Pointer; "" is the whole manifest. */
  readonly pointer: string;
  /** A clause of AGTP-API: `8.3`. */
  readonly clause: string;
  /** What is wrong there; lower case, no full stop. */
  readonly message: string;
}

/** Takes in findings. */
export type ReportFinding = (finding: Finding) => void;

const MAX_FINDINGS = 500;

/** Collects findings; past the limit they are only counted. */
export class FindingList {
  readonly #kept: Finding[] = [];
  #untold = 0;
  #faults = 0;

  /** Bound, so that it can be handed on. */
  readonly report: ReportFinding = (finding) => {
    if (finding.severity === "fault") this.#faults += 1;
    if (this.#kept.length < MAX_FINDINGS) this.#kept.push(finding);
    else this.#untold += 1;
  };

  /** Whether a fault was among them, listed or not. */
  get hasFaults(): boolean {
    return this.#faults > 0;
  }

  /** All that are listed; the last one counts the others. */
  list(): readonly Finding[] {
    if (this.#untold === 0) return this.#kept;
    const severity = this.hasFaults ? "fault" : "warning";
    const message = `${this.#untold} more findings are not listed`;
    return [...this.#kept, { severity, pointer: "", clause: "8.2", message }];
  }
}
