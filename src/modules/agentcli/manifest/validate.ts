/**
 * Validates a manifest of either version, with exact paths and messages in document order. Reads no files and runs
 * nothing.   agentcli spec "Validation"
 */
import type { DocumentPlace } from "../../../base/document-place.ts";
import {
  hasLoneSurrogate,
  isRecord,
  type JsonRecord,
  memberOf,
  recordIn,
} from "../../../base/json-value.ts";
import { isTooDeep, MAX_DEPTH } from "../../../base/nesting.ts";
import { type Failure, invalidManifest } from "../failure.ts";
import { checkField, checkFields, checkString } from "./check-field.ts";
import { checkProfiles, records } from "./check-profiles.ts";
import { BLOCKS, type Field, type Fields } from "./fields.ts";
import { Findings, type Validation } from "./finding.ts";
import type { Manifest } from "./manifest.ts";
import { fieldsOf, MANIFEST, OPTIONAL_BLOCKS, PROFILE_LISTS, WORKFLOW } from "./tables.ts";

export const MANIFEST_VERSIONS = ["0.1", "0.2"] as const;
export const MANIFEST_VERSION = "0.2";

/** Validates any value as a manifest. */
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
  for (const [key, block] of Object.entries(PROFILE_LISTS)) validateProfiles(root.at(key), block);
  validateWorkflows(root.at("workflows"));
  checkUnknownKeys(findings, manifest);
  checkProfiles(findings, manifest);
  // Skipped after errors, whose messages are more specific.
  if (!findings.hasErrors) checkCanonical(findings, "$", manifest);
}

function validateProfiles(list: DocumentPlace, block: Field): void {
  const ids = new Set<unknown>();
  for (const item of list.optional?.items() ?? []) {
    const profile = item.record();
    if (profile === undefined) continue;
    checkField(profile, block);
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

/** Requires a non-empty list. */
function someItems(list: DocumentPlace): readonly DocumentPlace[] {
  const items = Array.isArray(list.value) ? (list.items() ?? []) : [];
  if (items.length === 0) list.fail("must be a non-empty array");
  return items;
}

/** Expanded failure handlers need unique ids, too. */
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

/** Returns a validated manifest, the only kind that the rest of this folder accepts. */
export function readManifest(value: unknown): { readonly manifest: Manifest } | Failure {
  const validation = validateManifest(value);
  if (!validation.ok) return invalidManifest(validation);
  // Validation has checked every field of the type.
  return { manifest: value as unknown as Manifest };
}

/** Checks a task by itself.   agentcli spec "Task" */
function validateTask(task: DocumentPlace, taskIds: Set<unknown>): void {
  const [id, target] = [task.at("id"), task.at("target")];
  checkFields(task, BLOCKS.task_head);
  if (typeof id.value === "string" && id.value !== "") {
    if (taskIds.has(id.value)) id.fail("must be unique within the workflow");
    taskIds.add(id.value);
  }
  if (target.record() !== undefined) checkField(target, "#target");
  const sessionTarget = target.at("session_target").value;
  checkSurface(task, sessionTarget);
  checkInvocation(task);
  checkBlocks(task);
  const intent = task.at("intent");
  if (sessionTarget === "shell" && isPlanning(intent)) {
    intent.warn(
      "shell targets do not get a first-class planning boundary in every backend; intent may be advisory only",
    );
  }
  if (task.has("on_failure")) checkOnFailure(task.at("on_failure"));
}

/** The id of a task's failure handler; undefined if there is none. */
function failureTaskId({ id, on_failure: handler }: JsonRecord): string | undefined {
  if (!isRecord(handler)) return undefined;
  const { id: own } = handler;
  if (typeof own === "string" && own !== "") return own;
  return typeof id === "string" ? `${id}.failure` : undefined;
}

function isPlanning(intent: DocumentPlace): boolean {
  return intent.at("mode").value === "plan" || intent.at("read_only").value === true;
}

/** Requires a program for shell targets and a prompt for all others. */
function checkSurface(block: DocumentPlace, target: unknown): void {
  const [prompt, shell] = [block.at("prompt"), block.at("shell")];
  checkField(block.at("command"), BLOCKS.surface.command);
  if (target !== "shell") {
    if (!shell.isAbsent) shell.fail("must not be present unless target.session_target is shell");
    checkString(prompt, true);
    return;
  }
  if (!prompt.isAbsent) prompt.fail("must not be present for shell targets");
  const kind = block.at("target").at("payload_kind");
  if (!kind.isAbsent && kind.value !== "shellCommand") {
    kind.fail("must be shellCommand for shell targets");
  }
  if (shell.isAbsent) shell.fail("is required");
  else checkField(shell, "#shell");
}

function checkInvocation(task: DocumentPlace): void {
  const both = [task.at("schedule"), task.at("trigger")];
  const [schedule, trigger] = both.map((place) => place.optional?.record());
  const isWrong = both.some((place) => !place.isAbsent && !isRecord(place.value));
  if (!isWrong && (schedule === undefined) === (trigger === undefined)) {
    task.fail("must define exactly one of schedule or trigger");
  }
  if (schedule !== undefined) checkField(schedule, "#schedule");
  if (trigger !== undefined) checkField(trigger, "#trigger");
}

function checkBlocks(block: DocumentPlace): void {
  checkFields(block, OPTIONAL_BLOCKS);
  checkRecipient(block.at("delivery"));
  const approval = block.at("approval");
  if (approval.has("policy") && approval.has("required")) {
    approval.warn(
      "approval.policy takes precedence over approval.required for backend compilation",
    );
  }
  const limit = block.at("context").at("limit");
  const items = block.at("budgets").at("max_context_items");
  if (!limit.isAbsent && !items.isAbsent && limit.value !== items.value) {
    limit.warn("context.limit takes precedence over budgets.max_context_items when both are set");
  }
}

function checkRecipient(delivery: DocumentPlace): void {
  const { value: mode } = delivery.at("mode");
  const isAnnouncing = mode === "announce" || mode === "announce-always";
  if (!isAnnouncing || delivery.has("to")) return;
  delivery.at("to").fail('is required when delivery.mode is "announce" or "announce-always"');
}

function checkOnFailure(handler: DocumentPlace): void {
  if (handler.record() === undefined) return;
  checkFields(handler, { ...BLOCKS.handler_head, target: "#target" });
  const named = handler.at("target").at("session_target");
  const inferred = handler.has("shell") ? "shell" : "isolated";
  checkSurface(handler, named.isAbsent ? inferred : named.value);
  checkBlocks(handler);
}

/**
 * Reports unknown keys: errors at every governed level of a 0.2 manifest, warnings on the outer levels of a 0.1
 * manifest, which was never closed.   agentcli spec "Versions"
 */
function checkUnknownKeys(findings: Findings, manifest: JsonRecord): void {
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
    const field = memberOf(fields, key);
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

/** Only one form is allowed: next to structured fields, flat ones would be ignored. */
function identityFields(identity: JsonRecord): Fields {
  const { flat_identity: flat, structured_identity: structured } = BLOCKS;
  return Object.keys(identity).some((key) => Object.hasOwn(structured, key)) ? structured : flat;
}

/**
 * Reports values without a canonical form. Proofs are bound to the canonical digest of the manifest, and approvals to
 * that of a task.   agentcli spec "Canonical digest", RFC 8785 §3.2.2
 */
function checkCanonical(findings: Findings, path: string, value: unknown): void {
  if (typeof value === "string") {
    if (hasLoneSurrogate(value)) findings.error(path, HALF);
  } else if (typeof value === "number") {
    if (!Number.isFinite(value)) findings.error(path, "must be within double precision");
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      checkCanonical(findings, `${path}[${index}]`, item);
    }
  } else if (typeof value === "object" && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      const place = `${path}.${name}`;
      if (hasLoneSurrogate(name)) findings.error(place, HALF);
      checkCanonical(findings, place, member);
    }
  }
}

const HALF = "contains half of a surrogate pair";
