/** Private keys and secrets: who else can read them, and where they stand. */
import { join, resolve } from "node:path";
import { ENV_FILE } from "../../../app/config/environment.ts";
import { configSchema } from "../../../app/config/schema.ts";
import { readBoundedFile } from "../../../base/bounded-file.ts";
import { joinIndex, joinKey } from "../../../base/dotted-key.ts";
import { variablesIn } from "../../../base/environment.ts";
import { isTable, parseToml } from "../../../base/toml-document.ts";
import type { Severity } from "../../shell/findings.ts";
import { type Check, nameOf, type Observation, type Subject } from "../check.ts";
import { privateKeyPaths } from "../deployment-paths.ts";

/** In the order in which they are asked. */
export const KEYS_CHECKS: readonly Check[] = [
  // Others than its owner can read or replace a private key, or the file of variables.
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
        const message = `${what} "${name}" ${judged.message}, its mode is ${octal(mode)}`;
        const hint = `chmod 600 ${name}; if others may have read it, make a new one`;
        return [{ ...place, severity: judged.severity, message, hint }];
      });
    },
  },
  // Secrets stand in files instead of in the environment. Values are never repeated.
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
  // A group of its own is a habit of some systems.
  if ((mode & 0o040) !== 0) return { severity: "warning", message: "can be read by its group" };
  return undefined;
}

function octal(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, "0");
}

const MAX_BYTES = 1024 * 1024;
/** Header fields that carry credentials. */
const CREDENTIAL = /^(?:proxy-)?authorization$|^cookie$|(?:api-?key|token|secret)$/i;
/** A URL is a secret where it has a password. */
const URL_WITHOUT_PASSWORD = /^[a-z]+:\/\/(?![^/@]*:[^/@]+@)/i;

/** The keys of secrets that are written out; the schema says which are secrets. */
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
  const properties = schema["properties"];
  if (!isTable(value) || !isTable(properties)) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    Object.hasOwn(properties, name)
      ? findSecrets(properties[name], member, joinKey(key, name))
      : [],
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
