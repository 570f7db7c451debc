/**
 * The findings of validation: paths and messages in document order, bounded in number however large the manifest is.
 * agentcli spec "Validation"
 */
import { DocumentPlace, type DocumentReader, type Remark } from "../../../base/document-place.ts";
import { type DocumentStyle, JSON_STYLE } from "../../../base/document-style.ts";

/** An error or warning about a manifest. */
export interface Finding {
  /** `$.workflows[0].tasks[1].shell.args[2]` */
  readonly path: string;
  readonly message: string;
}

export interface Validation {
  readonly ok: boolean;
  readonly errors: readonly Finding[];
  readonly warnings: readonly Finding[];
}

const MAX_FINDINGS = 1000;

const STYLE: DocumentStyle = {
  ...JSON_STYLE,
  keyOf: (parent, token) => {
    return typeof token === "number" ? `${parent}[${token}]` : `${parent}.${token}`;
  },
  fault: describeFault,
  text: "a string",
};

/** Collects errors and warnings. */
export class Findings implements DocumentReader {
  readonly style: DocumentStyle = STYLE;
  readonly #errors: Finding[] = [];
  readonly #warnings: Finding[] = [];

  /** A value of the manifest; its faults become findings. */
  at(key: string, value: unknown): DocumentPlace {
    return new DocumentPlace(value, { file: "", key, name: key, clause: "" }, this);
  }

  report({ key, message, severity }: Pick<Remark, "key" | "message" | "severity">): boolean {
    if (severity === "warning") this.warn(key, message);
    else this.error(key, message);
    return true;
  }

  error(path: string, message: string): void {
    add(this.#errors, path, message);
  }

  warn(path: string, message: string): void {
    add(this.#warnings, path, message);
  }

  get hasErrors(): boolean {
    return this.#errors.length > 0;
  }

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

function describeFault(value: unknown, expected: string): string {
  if (expected !== STYLE.text) return `must be ${expected}`;
  if (value === undefined || value === null) return "is required";
  return typeof value === "string" ? "cannot be empty" : "must be a string";
}

/** The field's path within the profile, and the fault. */
export type ProfileFault = readonly [field: string, message: string];
