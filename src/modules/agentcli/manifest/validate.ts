/**
 * Validates a manifest of either version: exact paths, exact messages, in the order of the document.
 * Nothing is read, nothing is run.   agentcli spec "Validation"
 */
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import { isTooDeep, MAX_DEPTH } from "../../../base/nesting.ts";
import { checkAutonomy } from "./check-autonomy.ts";
import { checkFields } from "./check-field.ts";
import { checkProviderUse } from "./check-provider-use.ts";
import { checkProviders } from "./check-providers.ts";
import { checkReferences } from "./check-references.ts";
import { checkUnknownKeys } from "./check-unknown-keys.ts";
import type { Fields } from "./field.ts";
import { Findings, type Validation } from "./finding.ts";
import { PROFILE_LISTS } from "./profile-lists.ts";
import { WORKFLOW } from "./task-fields.ts";
import { failureTaskId, validateTask } from "./validate-task.ts";

/** The versions that are read. */
export const MANIFEST_VERSIONS = ["0.1", "0.2"] as const;
/** The version that is written. */
export const MANIFEST_VERSION = "0.2";

/** The verdict on whatever claims to be a manifest. */
export function validateManifest(manifest: unknown): Validation {
  const findings = new Findings();
  if (!isRecord(manifest)) findings.error("$", "manifest must be an object");
  else if (isTooDeep(manifest)) {
    findings.error("$", `must not be nested deeper than ${MAX_DEPTH} levels`);
  } else validate(findings, manifest);
  return findings.verdict();
}

function validate(findings: Findings, manifest: JsonRecord): void {
  const { version, workflows } = manifest;
  if (!MANIFEST_VERSIONS.some((known) => known === version)) {
    findings.error("$.version", `must be one of: ${MANIFEST_VERSIONS.join(", ")}`);
  }
  for (const [key, fields] of Object.entries(PROFILE_LISTS)) {
    validateProfiles(findings, `$.${key}`, manifest[key], fields);
  }
  if (!Array.isArray(workflows) || workflows.length === 0) {
    findings.error("$.workflows", "must be a non-empty array");
  } else validateWorkflows(findings, workflows);
  checkUnknownKeys(findings, manifest);
  if (version === MANIFEST_VERSION) {
    checkProviders(findings, manifest);
    checkProviderUse(findings, manifest);
  }
  checkReferences(findings, manifest);
  checkAutonomy(findings, manifest);
}

function validateProfiles(findings: Findings, path: string, value: unknown, fields: Fields): void {
  if (value === undefined || value === null) return;
  if (!Array.isArray(value)) {
    findings.error(path, "must be an array");
    return;
  }
  const ids = new Set<unknown>();
  for (const [index, profile] of value.entries()) {
    const place = `${path}[${index}]`;
    if (!isRecord(profile)) {
      findings.error(place, "must be an object");
      continue;
    }
    checkFields(findings, place, profile, fields);
    checkUnique(findings, `${place}.id`, profile["id"], ids, "must be unique");
  }
}

function validateWorkflows(findings: Findings, workflows: readonly unknown[]): void {
  const ids = new Set<unknown>();
  for (const [index, workflow] of workflows.entries()) {
    const path = `$.workflows[${index}]`;
    if (!isRecord(workflow)) {
      findings.error(path, "must be an object");
      continue;
    }
    checkFields(findings, path, workflow, WORKFLOW);
    checkUnique(findings, `${path}.id`, workflow["id"], ids, "must be unique");
    const { tasks } = workflow;
    if (!Array.isArray(tasks) || tasks.length === 0) {
      findings.error(`${path}.tasks`, "must be a non-empty array");
    } else validateTasks(findings, `${path}.tasks`, tasks);
  }
}

function validateTasks(findings: Findings, path: string, tasks: readonly unknown[]): void {
  const taskIds = new Set<unknown>();
  for (const [index, task] of tasks.entries()) {
    const place = `${path}[${index}]`;
    if (isRecord(task)) validateTask(findings, place, task, taskIds);
    else findings.error(place, "must be an object");
  }
  const known = tasks.map((task) => (isRecord(task) ? task : undefined));
  checkExpandedIds(findings, path, known);
  for (const [index, task] of known.entries()) {
    if (task !== undefined) checkParent(findings, `${path}[${index}]`, task, taskIds);
  }
}

/** A handler of failures is a task too, once it is written out. */
function checkExpandedIds(
  findings: Findings,
  path: string,
  tasks: readonly (JsonRecord | undefined)[],
): void {
  const message = "must be unique after shorthand expansion";
  const ids = new Set<unknown>();
  for (const [index, task] of tasks.entries()) {
    if (task === undefined) continue;
    checkUnique(findings, `${path}[${index}].id`, task["id"], ids, message);
    checkUnique(findings, `${path}[${index}].on_failure.id`, failureTaskId(task), ids, message);
  }
}

function checkParent(
  findings: Findings,
  path: string,
  task: JsonRecord,
  ids: ReadonlySet<unknown>,
): void {
  const { trigger, approval, id } = task;
  const parent = isRecord(trigger) ? trigger["parent"] : undefined;
  if (typeof parent === "string" && parent !== "") {
    if (parent === id) {
      findings.error(`${path}.trigger.parent`, "must not reference its own task id");
    } else if (!ids.has(parent)) {
      findings.error(
        `${path}.trigger.parent`,
        "must reference another task id in the same workflow",
      );
    }
  }
  if (isRecord(approval) && approval["required"] === true && !isRecord(trigger)) {
    findings.warn(
      `${path}.approval.required`,
      "approval_required is most useful on triggered tasks; root scheduled tasks usually should not block on approval",
    );
  }
}

function checkUnique(
  findings: Findings,
  path: string,
  id: unknown,
  ids: Set<unknown>,
  message: string,
): void {
  if (typeof id !== "string" || id === "") return;
  if (ids.has(id)) findings.error(path, message);
  ids.add(id);
}
