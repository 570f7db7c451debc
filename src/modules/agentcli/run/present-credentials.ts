/**
 * Passes a session's credentials to a program as its manifest declares: in a variable, in a file that only its owner
 * can read, or on standard input. The files are removed after the task unless the manifest keeps them.   agentcli
 * execution identity "Presentation"
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { valueAt } from "../../../base/json-value.ts";
import { codeOf } from "../../../base/thrown.ts";
import { type Failure, failure, isFailure } from "../failure.ts";
import type { ResolvedIdentity } from "../identity/resolve-identity.ts";
import type { Binding } from "../manifest/manifest.ts";

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
const FILE_NAME = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,200}$/;
/** Parts of a session that are only for the audit record. */
const RECORD_ONLY = /^(?:provider_assertions|delegation_chain)(?:\.|$)/;

/** Prepares the credentials; `ownInput` is the manifest's own standard input. */
export function presentCredentials(
  { effective, session }: Pick<ResolvedIdentity, "effective" | "session">,
  ownInput: string | null,
): PresentedCredentials | Failure {
  const { bindings, handoff, cleanup, default_redaction: isSecret } = effective.presentation;
  if (handoff !== null && handoff !== "none") {
    return failure("presentation_target_invalid", `handoff "${handoff}" is not supported here`);
  }
  const presented = new PresentedCredentials(cleanup ?? "always");
  for (const binding of bindings ?? []) {
    const value = textFor(binding, session);
    if (value === undefined) continue;
    const judged = { ...binding, redact: binding.redact ?? isSecret };
    const fault = isFailure(value) ? value : presented.add(judged, value, ownInput);
    if (fault === undefined) continue;
    presented.remove();
    return fault;
  }
  const token = session?.credentials.access_token?.value;
  if (token !== undefined) presented.secrets.push(token);
  return presented;
}

/** The value of a binding; undefined if absent and optional. */
function textFor(
  { source, required, format }: Binding,
  session: ResolvedIdentity["session"],
): string | Failure | undefined {
  if (RECORD_ONLY.test(source)) {
    return failure("presentation_source_forbidden", `"${source}" is for the record alone`);
  }
  const value = valueAt(session, source.split("."));
  if (value !== undefined && value !== null) return formatValue(value, format);
  if (required !== true) return undefined;
  return failure("presentation_binding_missing", `"${source}" is not in the session`);
}

type Cleanup = NonNullable<ResolvedIdentity["effective"]["presentation"]["cleanup"]>;

/** The prepared credentials, and their removal. */
class PresentedCredentials {
  env: Readonly<Record<string, string>> = {};
  stdin: string | null = null;
  /** Secrets to redact from the output. */
  readonly secrets: string[] = [];
  readonly #cleanup: Cleanup;
  #directory: string | undefined;
  readonly #files: string[] = [];

  constructor(cleanup: Cleanup) {
    this.#cleanup = cleanup;
  }

  add({ target, redact }: Binding, value: string, ownInput: string | null): Failure | undefined {
    if (redact !== false) this.secrets.push(value);
    switch (target?.kind ?? "none") {
      case "none":
        return undefined;
      case "env":
        return this.#setVariable(target?.name, value);
      case "file": {
        const path = this.#writeFile(this.#nameOf(target), value);
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

  /** The directory of the files to keep after this outcome, if any. */
  leftAfter(isSuccess: boolean): string | undefined {
    const removing = isSuccess ? "on-success" : "on-failure";
    return this.#cleanup === "always" || this.#cleanup === removing ? undefined : this.#directory;
  }

  /** Removes the files; returns an error instead of throwing, since the program may have added obstacles. */
  remove(): unknown {
    if (this.#directory === undefined) return undefined;
    try {
      // Credentials are removed first, since the program may have made the directory undeletable.
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

  /** Names a file: the target's name if another variable exposes it, else a number with the prefix, if any. */
  #nameOf(target: Binding["target"]): string {
    const { name, prefix, expose_as: variable } = target ?? {};
    if (variable !== undefined && variable !== null && typeof name === "string") return name;
    const own = String(this.#files.length + 1);
    return typeof prefix === "string" ? `${prefix}-${own}` : own;
  }

  /** A full disk is a failure, not a fault. */
  #writeFile(name: string, value: string): string | Failure {
    if (!FILE_NAME.test(name)) {
      const message = "target.name and target.prefix of a file must be names without a path";
      return failure("presentation_target_invalid", message);
    }
    try {
      this.#directory ??= mkdtempSync(join(tmpdir(), "agtpd-credentials-"));
      const path = join(this.#directory, name);
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
 * The environment of a task's program: basic variables, the manifest's, then the credentials'; later sources win. Other
 * variables of the daemon are not passed on.
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
