/**
 * Collects the problems that a reader finds in one file. Bounded, because the file may be hostile:
 * past the limit findings are only counted, and nobody works out a hint for them.
 */

import { suggest } from "../base/close-matches.ts";
import { joinKey } from "../base/dotted-key.ts";
import type { Problem } from "../base/problem.ts";

const MAX_PROBLEMS = 200;

/** Collects the problems of one file. */
export class Findings {
  readonly #file: string;
  readonly #problems: Problem[] = [];
  #errors = 0;
  #untold = 0;

  constructor(file: string) {
    this.#file = file;
  }

  /** True when anything was found that stops the file from being used. */
  get hasErrors(): boolean {
    return this.#errors > 0;
  }

  /** Records something that must not be. */
  error(key: string, message: string): void {
    this.#errors += 1;
    this.#add({ file: this.#file, key, message });
  }

  /** Records something that changes nothing. */
  warn(key: string, message: string): void {
    this.#add({ file: this.#file, key, message, severity: "warning" });
  }

  /** Records a name that is not among the known ones, with those it may have been meant for. */
  unknownName(key: string, message: string, name: string, known: Iterable<string>): void {
    this.#errors += 1;
    this.#add({ file: this.#file, key, message, ...this.#suggest(name, known) });
  }

  /** Warns of every member that no reader looks at. */
  unknownKeys(prefix: string, record: object, known: readonly string[]): void {
    for (const name of Object.keys(record)) {
      if (known.includes(name)) continue;
      const message = "unknown key, ignored";
      const problem = { file: this.#file, key: joinKey(prefix, name), message };
      this.#add({ ...problem, severity: "warning", ...this.#suggest(name, known) });
    }
  }

  /** Everything recorded, in order; the last one counts what the limit left out. */
  list(): readonly Problem[] {
    if (this.#untold === 0) return this.#problems;
    const message = `${this.#untold} more problems are not listed`;
    const severity = this.hasErrors ? "error" : "warning";
    return [...this.#problems, { file: this.#file, key: "", message, severity }];
  }

  #add(problem: Problem): void {
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push(problem);
    else this.#untold += 1;
  }

  #suggest(name: string, known: Iterable<string>): { readonly hint?: string } {
    if (this.#problems.length >= MAX_PROBLEMS) return {};
    const hint = suggest(name, known);
    return hint === undefined ? {} : { hint };
  }
}
