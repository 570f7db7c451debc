/**
 * The findings of validation: exact paths and messages, in the order of the document, and no more
 * of them than a reader can use however large the manifest is.   agentcli spec "Validation"
 */

/** One thing that is wrong, or odd, with a manifest. */
export interface Finding {
  /** `$.workflows[0].tasks[1].shell.args[2]` */
  readonly path: string;
  readonly message: string;
}

/** The verdict on a manifest. */
export interface Validation {
  readonly ok: boolean;
  readonly errors: readonly Finding[];
  readonly warnings: readonly Finding[];
}

const MAX_FINDINGS = 1000;

/** Collects errors and warnings. */
export class Findings {
  readonly #errors: Finding[] = [];
  readonly #warnings: Finding[] = [];

  error(path: string, message: string): void {
    add(this.#errors, path, message);
  }

  warn(path: string, message: string): void {
    add(this.#warnings, path, message);
  }

  get hasErrors(): boolean {
    return this.#errors.length > 0;
  }

  /** The verdict. */
  verdict(): Validation {
    return { ok: !this.hasErrors, errors: this.#errors, warnings: this.#warnings };
  }
}

function add(list: Finding[], path: string, message: string): void {
  if (list.length < MAX_FINDINGS) list.push({ path, message });
  else if (list.length === MAX_FINDINGS) {
    list.push({ path: "$", message: `has more findings than the ${MAX_FINDINGS} listed here` });
  }
}
