/**
 * Checks of files that others can write, own or read: served files, the state, private keys and
 * secrets; and of secrets in files.
 */

import { join, resolve } from "node:path";
import { configSchema } from "../../../app/config/config.ts";
import { ENV_FILE } from "../../../app/config/load.ts";
import { readBoundedFile } from "../../../base/bounded-file.ts";
import { joinIndex, joinKey, memberAt } from "../../../base/dotted-key.ts";
import { variablesIn } from "../../../base/environment.ts";
import { isTable, parseToml } from "../../../base/toml-document.ts";
import { stateDirectory } from "../../../state/state-directory.ts";
import type { Severity } from "../../shell/findings.ts";
import { type Check, nameOf, type Observation, type Subject } from "../check.ts";
import { privateKeyPaths, servedPaths, statePaths } from "../deployment-paths.ts";

/** The checks, in the order in which they run. */
export const FILES_CHECKS: readonly Check[] = [
  // Users other than their owners can write served files, or read the state.
  {
    id: "file-permissions",
    asks: "who else can change what is served, or read what is kept?",
    look: (subject) =>
      subject.machine.uid === undefined ? [] : [...writableServed(subject), ...openState(subject)],
  },
  // Served files, or the state, belong to another user.
  {
    id: "ownership",
    asks: "do the files belong to who should own them?",
    look: (subject) =>
      subject.machine.uid === undefined
        ? []
        : [...foreignServed(subject), ...foreignState(subject)],
  },
];

/** A user who can write these files controls code that the daemon runs. */
function writableServed(subject: Subject): readonly Observation[] {
  return servedPaths(subject).flatMap((path): readonly Observation[] => {
    const mode = subject.machine.status(path)?.mode ?? 0;
    const place = { file: nameOf(subject, path), key: "" };
    const hint = `chmod go-w ${place.file}`;
    // In a directory with the sticky bit nobody can replace another user's files.
    if ((mode & 0o002) !== 0 && (mode & 0o1000) === 0) {
      const message = "can be written by everybody, who then decides what the daemon runs";
      return [{ ...place, severity: "error", message, hint }];
    }
    if ((mode & 0o020) === 0) return [];
    const message = "can be written by its group, whose members decide what the daemon runs";
    return [{ ...place, severity: "note", message, hint }];
  });
}

function openState(subject: Subject): readonly Observation[] {
  return statePaths(subject).flatMap((path): readonly Observation[] => {
    const status = subject.machine.status(path);
    if (status === undefined) return [];
    const { mode, isDirectory } = status;
    const place = { file: nameOf(subject, path), key: "" };
    const hint = `chmod ${isDirectory ? "700" : "600"} ${place.file}`;
    if ((mode & 0o022) !== 0) {
      const message = "is the daemon's state and can be written by others";
      return [{ ...place, severity: "error", message, hint }];
    }
    // Certificates and public keys may be readable; private keys have a check of their own.
    if (isDirectory || (mode & 0o044) === 0 || path.endsWith(".pem")) return [];
    const message = "is the daemon's state and can be read by others";
    return [{ ...place, severity: "warning", message, hint }];
  });
}

const ROOT = 0;

/** The owner of the configuration decides what is served, so no other user should own part of it. */
function foreignServed(subject: Subject): readonly Observation[] {
  const { config, machine } = subject;
  const daemon = machine.status(stateDirectory(config.directory))?.uid;
  const trusted = new Set([ROOT, machine.status(config.file)?.uid, daemon, machine.uid]);
  return servedPaths(subject).flatMap((path) => {
    const owner = machine.status(path)?.uid;
    if (owner === undefined || trusted.has(owner)) return [];
    const message = `belongs to user ${owner}, who decides what the daemon runs`;
    const hint = "chown it to whoever owns the configuration";
    return [{ severity: "warning", file: nameOf(subject, path), key: "", message, hint }];
  });
}

/** A file that another user left by starting the daemon once prevents the next start. */
function foreignState(subject: Subject): readonly Observation[] {
  const { config, machine } = subject;
  const daemon = machine.status(stateDirectory(config.directory))?.uid;
  if (daemon === undefined) return [];
  return statePaths(subject).flatMap((path) => {
    const owner = machine.status(path)?.uid;
    if (owner === undefined || owner === daemon) return [];
    const message = `belongs to user ${owner}, the state directory to user ${daemon}`;
    const hint = `chown it to user ${daemon}, and start the daemon as that user only`;
    return [{ severity: "error", file: nameOf(subject, path), key: "", message, hint }];
  });
}

/** The checks, in the order in which they run. */
export const KEYS_CHECKS: readonly Check[] = [
  // Users other than its owner can read or replace a private key, or the file of variables.
  {
    id: "key-permissions",
    asks: "are private keys their owner's alone?",
    look: (subject) => {
      const { machine, configFile } = subject;
      if (machine.uid === undefined) return [];
      const variables = { path: join(subject.config.directory, ENV_FILE), key: "" };
      return [...privateKeyPaths(subject), variables].flatMap((one) => {
        const { path, key } = one;
        const mode = machine.status(path)?.mode ?? 0;
        const judged = judgeMode(mode);
        if (judged === undefined) return [];
        const name = nameOf(subject, path);
        const place = key === "" ? { file: name, key } : { file: configFile, key };
        const what = one === variables ? "the file of variables" : "the private key";
        const message = `${what} "${name}" ${judged.message}, its mode is ${(mode & 0o777).toString(8).padStart(4, "0")}`;
        const hint = `chmod 600 ${name}; if others may have read it, make a new one`;
        return [{ ...place, severity: judged.severity, message, hint }];
      });
    },
  },
  // Secrets are written in files instead of the environment. Findings never repeat their values.
  {
    id: "secrets-in-files",
    asks: "are secrets taken from the environment?",
    look: (subject) => [
      ...findSecrets(configSchema, subject.written, "").map((key) =>
        writtenSecret(subject.configFile, key),
      ),
      ...subject.endpoints.flatMap(({ file, handler }) =>
        handler.type === "external_service" ? headersOf(file, subject) : [],
      ),
    ],
  },
];

function judgeMode(
  mode: number,
): { readonly severity: Severity; readonly message: string } | undefined {
  if ((mode & 0o022) !== 0) return { severity: "error", message: "can be replaced by others" };
  if ((mode & 0o004) !== 0) return { severity: "error", message: "can be read by everybody" };
  // On some systems each user has a group of their own, so this is a warning only.
  if ((mode & 0o040) !== 0) return { severity: "warning", message: "can be read by its group" };
  return undefined;
}

const MAX_BYTES = 1024 * 1024;
const CREDENTIAL = /^(?:proxy-)?authorization$|^cookie$|(?:api-?key|token|secret)$/i;
/** A URL only is a secret if it contains a password. */
const URL_WITHOUT_PASSWORD = /^[a-z]+:\/\/(?![^/@]*:[^/@]+@)/i;

/** The keys of secrets that are written out, as the schema marks secrets. */
function findSecrets(schema: unknown, value: unknown, key: string): readonly string[] {
  if (!isTable(schema)) return [];
  if (typeof value === "string") {
    return schema["writeOnly"] === true && isWrittenOut(value) ? [key] : [];
  }
  if (Array.isArray(value)) {
    return value.flatMap((item, index) =>
      findSecrets(schema["items"], item, joinIndex(key, index)),
    );
  }
  if (!isTable(value)) return [];
  const { properties, additionalProperties: others } = schema;
  return Object.entries(value).flatMap(([name, member]) =>
    findSecrets(memberAt(properties, name) ?? others, member, joinKey(key, name)),
  );
}

function headersOf(file: string, { config }: Subject): readonly Observation[] {
  const { text = "" } = readBoundedFile(resolve(config.directory, file), MAX_BYTES);
  const headers = ["endpoint", "handler", "headers"].reduce<unknown>(
    (owner, name) => (isTable(owner) ? owner[name] : undefined),
    parseToml(text).table,
  );
  if (!isTable(headers)) return [];
  return Object.entries(headers).flatMap(([name, value]) =>
    CREDENTIAL.test(name) && typeof value === "string" && isWrittenOut(value)
      ? [writtenSecret(file, joinKey("endpoint.handler.headers", name))]
      : [],
  );
}

function isWrittenOut(value: string): boolean {
  return variablesIn(value).length === 0 && !URL_WITHOUT_PASSWORD.test(value);
}

function writtenSecret(file: string, key: string): Observation {
  const message = "is a secret that stands in the file";
  const hint = `write "\${NAME}" and set NAME in the daemon's environment or .env; then change the secret`;
  return { severity: "warning", file, key, message, hint };
}
