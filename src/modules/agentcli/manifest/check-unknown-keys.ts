/**
 * Keys that no table knows: an error at every governed level of a 0.2 manifest, a warning on the
 * outer levels of a 0.1 manifest, which was never closed.   agentcli spec "Versions"
 */
import { isRecord, type JsonRecord, recordIn } from "../../../base/json-value.ts";
import { records } from "./check-profiles.ts";
import { block, type Field, type Fields, list, STRING } from "./field.ts";
import type { Findings } from "./finding.ts";
import { PROFILE_LISTS } from "./governance-fields.ts";
import { FLAT_IDENTITY, isStructuredIdentity, STRUCTURED_IDENTITY } from "./identity-fields.ts";
import { ON_FAILURE, TASK, WORKFLOW } from "./task-fields.ts";

const SOURCE: Fields = { env: STRING, file: STRING, literal: STRING, command: STRING };

const PROFILES = Object.entries(PROFILE_LISTS).map(([key, fields]) => [key, list(block(fields))]);

const TOP: Fields = {
  version: STRING,
  ...Object.fromEntries(PROFILES),
  workflows: list(block({ ...WORKFLOW, tasks: list(block(TASK)) })),
};

/** Reports them as the version has it. */
export function checkUnknownKeys(findings: Findings, manifest: JsonRecord): void {
  if (manifest["version"] === "0.2") {
    closeBlock(findings, "$", manifest, TOP);
    return;
  }
  warnOf(findings, "$", manifest, TOP);
  for (const [path, workflow] of records("$.workflows", manifest["workflows"])) {
    warnOf(findings, path, workflow, { ...WORKFLOW, tasks: list() });
    for (const [place, task] of records(`${path}.tasks`, workflow["tasks"])) {
      warnOf(findings, place, task, TASK);
      const handler = recordIn(task["on_failure"]);
      warnOf(findings, `${place}.on_failure`, handler, ON_FAILURE);
    }
  }
}

function warnOf(findings: Findings, path: string, value: JsonRecord, fields: Fields): void {
  for (const key of Object.keys(value)) {
    if (!Object.hasOwn(fields, key)) findings.warn(`${path}.${key}`, `unknown key "${key}"`);
  }
}

function closeBlock(findings: Findings, path: string, value: JsonRecord, fields: Fields): void {
  for (const [key, member] of Object.entries(value)) {
    const place = `${path}.${key}`;
    const field = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (field !== undefined) closeField(findings, place, member, field);
    else findings.error(place, `unknown key "${key}" is not allowed in a v0.2 manifest`);
  }
}

function closeField(findings: Findings, path: string, value: unknown, field: Field): void {
  if (field.kind === "list" && field.items !== undefined && Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      closeField(findings, `${path}[${index}]`, item, field.items);
    }
  }
  if (!isRecord(value)) return;
  if (field.kind === "block") closeBlock(findings, path, value, field.fields);
  if (field.kind === "identity") closeBlock(findings, path, value, identityFields(value));
  if (field.kind === "source") closeBlock(findings, path, value, SOURCE);
}

function identityFields(identity: JsonRecord): Fields {
  return isStructuredIdentity(identity)
    ? { ...FLAT_IDENTITY, ...STRUCTURED_IDENTITY }
    : FLAT_IDENTITY;
}
