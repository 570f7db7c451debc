/**
 * Keys that no table knows: an error at every governed level of a 0.2 manifest, a warning on the
 * outer levels of a 0.1 manifest, which was never closed.   agentcli spec "Versions"
 */
import { isRecord, type JsonRecord, recordIn } from "../../../base/json-value.ts";
import { records } from "./check-profiles.ts";
import { BLOCKS, type Field, type Fields } from "./fields.ts";
import type { Findings } from "./finding.ts";
import { fieldsOf, isStructuredIdentity, MANIFEST } from "./tables.ts";

/** Reports them as the version has it. */
export function checkUnknownKeys(findings: Findings, manifest: JsonRecord): void {
  if (manifest["version"] === "0.2") {
    closeBlock(findings, "$", manifest, MANIFEST);
    return;
  }
  warnOf(findings, "$", manifest, MANIFEST);
  for (const [path, workflow] of records("$.workflows", manifest["workflows"])) {
    warnOf(findings, path, workflow, fieldsOf("#workflow"));
    for (const [place, task] of records(`${path}.tasks`, workflow["tasks"])) {
      warnOf(findings, place, task, fieldsOf("#task"));
      const handler = recordIn(task["on_failure"]);
      warnOf(findings, `${place}.on_failure`, handler, fieldsOf("#on_failure"));
    }
  }
}

function warnOf(findings: Findings, path: string, value: JsonRecord, fields: Fields = {}): void {
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
  if (typeof field === "object" && "list" in field && Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      closeField(findings, `${path}[${index}]`, item, field.list);
    }
  }
  if (!isRecord(value)) return;
  const fields = field === "identity" ? identityFields(value) : fieldsOf(field);
  if (fields !== undefined) closeBlock(findings, path, value, fields);
}

function identityFields(identity: JsonRecord): Fields {
  const { flat_identity: flat, structured_identity: structured } = BLOCKS;
  return isStructuredIdentity(identity) ? { ...flat, ...structured } : flat;
}
