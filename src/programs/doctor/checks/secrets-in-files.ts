/** Secrets that stand in files instead of in the environment. Values are never repeated. */
import { resolve } from "node:path";
import { configSchema } from "../../../app/config/schema.ts";
import { readBoundedFile } from "../../../base/bounded-file.ts";
import { joinIndex, joinKey } from "../../../base/dotted-key.ts";
import { variablesIn } from "../../../base/environment.ts";
import { isTable, parseToml } from "../../../base/toml-document.ts";
import type { Check, Observation } from "../finding.ts";
import type { Subject } from "../subject.ts";

const MAX_BYTES = 1024 * 1024;
/** Header fields that carry credentials. */
const CREDENTIAL = /^(?:proxy-)?authorization$|^cookie$|(?:api-?key|token|secret)$/i;
/** A URL is a secret where it has a password. */
const URL_WITHOUT_PASSWORD = /^[a-z]+:\/\/(?![^/@]*:[^/@]+@)/i;

/** The check `secrets-in-files`. */
export const secretsInFiles: Check = {
  id: "secrets-in-files",
  asks: "are secrets taken from the environment?",
  look: (subject) => [
    ...findSecrets(configSchema, subject.written, "").map((key) => at(subject.configFile, key)),
    ...subject.endpoints.flatMap(({ file, handler }) =>
      handler.type === "external_service" ? headersOf(file, subject) : [],
    ),
  ],
};

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
      ? [at(file, joinKey("endpoint.handler.headers", name))]
      : [],
  );
}

function isWrittenOut(value: string): boolean {
  return variablesIn(value).length === 0 && !URL_WITHOUT_PASSWORD.test(value);
}

function at(file: string, key: string): Observation {
  const message = "is a secret that stands in the file";
  const remedy = `write "\${NAME}" and set NAME in the daemon's environment; then change the secret`;
  return { severity: "warning", file, key, message, remedy };
}
