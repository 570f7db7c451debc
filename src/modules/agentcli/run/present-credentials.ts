/**
 * Hands the credentials of a session to a program as its manifest says: in a variable, in a file that
 * only its owner can read, or on standard input. The files are gone when the task is over.
 * agentcli execution identity "Presentation"
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { valueAt } from "../../../base/json-value.ts";
import { codeOf } from "../../../base/thrown.ts";
import { type Failure, failure, isFailure } from "../failure.ts";
import type { ResolvedIdentity } from "../identity/resolve-identity.ts";
import type { Binding } from "../manifest/manifest.ts";

/** The credentials of a program, and how to take them back. */
interface PresentedCredentials {
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string | null;
  /** The secrets that must not be seen in the output. */
  readonly secrets: readonly string[];
  /** Never throws: answers what was in the way, such as what the program has put beside them. */
  remove(): unknown;
}

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Presents them; `ownInput` is what the manifest itself puts on standard input. */
export function presentCredentials(
  { effective, session }: Pick<ResolvedIdentity, "effective" | "session">,
  ownInput: string | null,
): PresentedCredentials | Failure {
  const { bindings, handoff } = effective.presentation;
  if (handoff !== null && handoff !== "none") {
    return failure("presentation_target_invalid", `handoff "${handoff}" is not supported here`);
  }
  const presented = new Presentation();
  for (const binding of bindings ?? []) {
    const value = valueAt(session, binding.source.split("."));
    if (value === undefined) {
      if (binding.required !== true) continue;
      presented.remove();
      return failure("presentation_binding_missing", `"${binding.source}" is not in the session`);
    }
    const fault = presented.add(binding, formatValue(value, binding.format), ownInput);
    if (fault === undefined) continue;
    presented.remove();
    return fault;
  }
  const token = session?.credentials.access_token?.value;
  if (token !== undefined) presented.secrets.push(token);
  return presented;
}

class Presentation implements PresentedCredentials {
  env: Readonly<Record<string, string>> = {};
  stdin: string | null = null;
  readonly secrets: string[] = [];
  #directory: string | undefined;
  readonly #files: string[] = [];

  add({ target }: Binding, value: string, ownInput: string | null): Failure | undefined {
    this.secrets.push(value);
    switch (target?.kind ?? "none") {
      case "none":
        return undefined;
      case "env":
        return this.#setVariable(target?.name, value);
      case "file": {
        const path = this.#writeFile(value);
        return isFailure(path) ? path : this.#setVariable(target?.expose_as ?? target?.name, path);
      }
      case "stdin":
        if (ownInput !== null || this.stdin !== null) {
          const message = "standard input is taken already";
          return failure("presentation_stdin_conflict", message);
        }
        this.stdin = value;
        return undefined;
    }
  }

  remove(): unknown {
    if (this.#directory === undefined) return undefined;
    try {
      // The credentials first: a directory can be made that cannot be removed.
      for (const file of this.#files) rmSync(file, { force: true });
      rmSync(this.#directory, { recursive: true, force: true });
      return undefined;
    } catch (error) {
      return error;
    }
  }

  #setVariable(name: string | null | undefined, value: string): Failure | undefined {
    if (name === undefined || name === null || !VARIABLE.test(name)) {
      return failure("presentation_target_invalid", "target.name must be the name of a variable");
    }
    this.env = { ...this.env, [name]: value };
    return undefined;
  }

  /** Nobody but the disk is at fault where it is full. */
  #writeFile(value: string): string | Failure {
    try {
      this.#directory ??= mkdtempSync(join(tmpdir(), "agtpd-credentials-"));
      const path = join(this.#directory, String(this.secrets.length));
      writeFileSync(path, value, { mode: 0o600, flag: "wx" });
      this.#files.push(path);
      return path;
    } catch (error) {
      const message = `the file of a credential cannot be written (${codeOf(error)})`;
      return failure("presentation_target_invalid", message);
    }
  }
}

function formatValue(value: unknown, format: Binding["format"]): string {
  if (format === "json") return JSON.stringify(value);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return format === "base64" ? Buffer.from(text).toString("base64") : text;
}

const PASSED_ON = ["PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "USER", "LOGNAME"];

/**
 * The environment of a task's program: the little that any program needs, what the manifest
 * declares, and the credentials that it presents; later sources win. Nothing else of the daemon's
 * own gets there.
 */
export function childEnvironment(
  env: Readonly<Record<string, string>>,
  declared: Readonly<Record<string, string>>,
  presented: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const passed = Object.entries(env).filter(
    ([name]) => PASSED_ON.includes(name) || name.startsWith("LC_"),
  );
  return { ...Object.fromEntries(passed), ...declared, ...presented };
}
