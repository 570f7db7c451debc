/**
 * Validates a manifest of either version: exact paths, exact messages, in the order of the document.
 * Nothing is read, nothing is run.   agentcli spec "Validation"
 */
import type { DocumentPlace } from "../../../base/document-place.ts";
import { isRecord, type JsonRecord, recordIn, valueAt } from "../../../base/json-value.ts";
import { isTooDeep, MAX_DEPTH } from "../../../base/nesting.ts";
import { type Failure, invalidManifest } from "../failure.ts";
import { checkFields } from "./check-field.ts";
import { checkProviderUse } from "./check-provider-use.ts";
import { checkProviders } from "./check-providers.ts";
import { checkReferences, records } from "./check-references.ts";
import { checkUnknownKeys } from "./check-unknown-keys.ts";
import type { Fields } from "./field.ts";
import { Findings, type Validation } from "./finding.ts";
import { PROFILE_LISTS } from "./governance-fields.ts";
import { compareTrust, TRUST_LEVELS, type TrustLevel } from "./identity-fields.ts";
import type { Manifest } from "./manifest.ts";
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

/** Checks every task and every handler of failures. */
function checkAutonomy(findings: Findings, manifest: JsonRecord): void {
  const profiles = new Map(
    records("", manifest["identity_profiles"]).map(([, profile]) => [profile["id"], profile]),
  );
  const reported = new Set<string>();
  for (const [path, workflow] of records("$.workflows", manifest["workflows"])) {
    for (const [place, task] of records(`${path}.tasks`, workflow["tasks"])) {
      const handler = task["on_failure"];
      const scopes = [[place, task] as const];
      if (isRecord(handler)) scopes.push([`${place}.on_failure`, handler] as const);
      for (const [at, scope] of scopes) {
        const found = judge(profiles, workflow, scope);
        if (found === undefined) continue;
        const owner = found.isOwn ? at : path;
        const message = `must not exceed resolved identity max_autonomy "${found.most}"`;
        // One line for a contract that many tasks share.
        if (reported.has(`${owner} ${message}`)) continue;
        reported.add(`${owner} ${message}`);
        findings.error(`${owner}.contract.required_trust_level`, message);
      }
    }
  }
}

function judge(
  profiles: ReadonlyMap<unknown, JsonRecord>,
  workflow: JsonRecord,
  scope: JsonRecord,
): { readonly most: TrustLevel; readonly isOwn: boolean } | undefined {
  const outer = recordIn(workflow["identity"]);
  const own = recordIn(scope["identity"]);
  const profile = profiles.get(own["ref"] ?? outer["ref"]) ?? {};
  const most = [own, outer, profile].map(maxAutonomy).find((level) => level !== undefined);
  const ownRequired = levelOf(valueAt(scope, ["contract", "required_trust_level"]));
  const required = ownRequired ?? levelOf(valueAt(workflow, ["contract", "required_trust_level"]));
  if (most === undefined || required === undefined || compareTrust(required, most) <= 0) {
    return undefined;
  }
  return { most, isOwn: ownRequired !== undefined };
}

function maxAutonomy(identity: JsonRecord): TrustLevel | undefined {
  return levelOf(valueAt(identity, ["trust", "constraints", "max_autonomy"]));
}

function levelOf(value: unknown): TrustLevel | undefined {
  return TRUST_LEVELS.find((level) => level === value);
}

/** Validates first: nothing else in this folder looks at a manifest that was not. */
export function readManifest(value: unknown): { readonly manifest: Manifest } | Failure {
  const validation = validateManifest(value);
  if (!validation.ok) return invalidManifest(validation);
  // Every field that the type names was checked just now.
  return { manifest: value as unknown as Manifest };
}
