/**
 * Validates a manifest of either version: exact paths, exact messages, in the order of the document.
 * Nothing is read, nothing is run.   agentcli spec "Validation"
 */
import type { DocumentPlace } from "../../../base/document-place.ts";
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
  const root = findings.at("$", manifest);
  const version = root.at("version");
  if (!MANIFEST_VERSIONS.some((known) => known === version.value)) {
    version.fail(`must be one of: ${MANIFEST_VERSIONS.join(", ")}`);
  }
  for (const [key, fields] of Object.entries(PROFILE_LISTS)) {
    validateProfiles(root.at(key), fields);
  }
  validateWorkflows(root.at("workflows"));
  checkUnknownKeys(findings, manifest);
  if (version.value === MANIFEST_VERSION) {
    checkProviders(findings, manifest);
    checkProviderUse(findings, manifest);
  }
  checkReferences(findings, manifest);
  checkAutonomy(findings, manifest);
}

function validateProfiles(list: DocumentPlace, fields: Fields): void {
  const ids = new Set<unknown>();
  for (const item of list.optional?.items() ?? []) {
    const profile = item.record();
    if (profile === undefined) continue;
    checkFields(profile, fields);
    checkUnique(profile.at("id"), profile.at("id").value, ids, "must be unique");
  }
}

function validateWorkflows(list: DocumentPlace): void {
  const ids = new Set<unknown>();
  for (const item of someItems(list)) {
    const workflow = item.record();
    if (workflow === undefined) continue;
    checkFields(workflow, WORKFLOW);
    checkUnique(workflow.at("id"), workflow.at("id").value, ids, "must be unique");
    validateTasks(someItems(workflow.at("tasks")));
  }
}

function validateTasks(items: readonly DocumentPlace[]): void {
  const taskIds = new Set<unknown>();
  const tasks: DocumentPlace[] = [];
  for (const item of items) {
    const task = item.record();
    if (task === undefined) continue;
    validateTask(task, taskIds);
    tasks.push(task);
  }
  checkExpandedIds(tasks);
  for (const task of tasks) checkParent(task, taskIds);
}

/** A list that must have something in it. */
function someItems(list: DocumentPlace): readonly DocumentPlace[] {
  const items = Array.isArray(list.value) ? (list.items() ?? []) : [];
  if (items.length === 0) list.fail("must be a non-empty array");
  return items;
}

/** A handler of failures is a task too, once it is written out. */
function checkExpandedIds(tasks: readonly DocumentPlace[]): void {
  const message = "must be unique after shorthand expansion";
  const ids = new Set<unknown>();
  for (const task of tasks) {
    checkUnique(task.at("id"), task.at("id").value, ids, message);
    const handler = task.at("on_failure").at("id");
    checkUnique(handler, failureTaskId(task.members), ids, message);
  }
}

function checkParent(task: DocumentPlace, ids: ReadonlySet<unknown>): void {
  const [trigger, approval] = [task.at("trigger"), task.at("approval")];
  const parent = trigger.at("parent");
  if (typeof parent.value === "string" && parent.value !== "") {
    if (parent.value === task.at("id").value) parent.fail("must not reference its own task id");
    else if (!ids.has(parent.value)) {
      parent.fail("must reference another task id in the same workflow");
    }
  }
  const required = approval.at("required");
  if (required.value === true && !isRecord(trigger.value)) {
    required.warn(
      "approval_required is most useful on triggered tasks; root scheduled tasks usually should not block on approval",
    );
  }
}

function checkUnique(place: DocumentPlace, id: unknown, ids: Set<unknown>, message: string): void {
  if (typeof id !== "string" || id === "") return;
  if (ids.has(id)) place.fail(message);
  ids.add(id);
}
