/**
 * Converts version 0.1 to 0.2: flat identities become profiles, and attestations, which were never verifiable, become
 * proofs that verify nothing.   agentcli protocol "agentcli.convert"
 */

import { hash } from "node:crypto";
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import { type Failure, invalidArgument, invalidManifest } from "../failure.ts";
import type { FailureHandler, Identity, Manifest, Task, Workflow } from "./manifest.ts";
import { isStructuredIdentity } from "./tables.ts";
import { validateManifest } from "./validate.ts";

/** Converts a manifest, or fails with the reason. */
export function convertManifest(value: unknown): JsonRecord | Failure {
  if (!isRecord(value) || value["version"] !== "0.1") {
    return invalidArgument("Input manifest must be version 0.1");
  }
  const before = validateManifest(value);
  if (!before.ok) return invalidManifest(before);
  const profiles = new Profiles();
  const manifest = value as unknown as Manifest;
  const workflows = manifest.workflows.map((workflow) => convertWorkflow(workflow, profiles));
  const { workflows: _, ...others } = value;
  const converted = {
    ...others,
    version: "0.2",
    ...joined("identity_profiles", value, profiles.identities),
    ...joined("authorization_proof_profiles", value, profiles.proofs),
    workflows,
  };
  // Version 0.2 refuses some things that 0.1 only warned about, which the author must resolve.
  const after = validateManifest(converted);
  return after.ok ? converted : invalidManifest(after);
}

function joined(key: string, value: JsonRecord, made: readonly JsonRecord[]): JsonRecord {
  const given = value[key];
  const profiles = [...(Array.isArray(given) ? given : []), ...made];
  return profiles.length === 0 ? {} : { [key]: profiles };
}

function convertWorkflow(workflow: Workflow, profiles: Profiles): JsonRecord {
  return {
    ...withReferences(workflow, workflow.identity ?? null, profiles),
    tasks: workflow.tasks.map((task) => convertTask(task, workflow, profiles)),
  };
}

/** In 0.1, a task's identity overrides its workflow's member by member. */
function convertTask(task: Task, workflow: Workflow, profiles: Profiles): JsonRecord {
  const { on_failure: handler } = task;
  const converted = withReferences(task, merge(workflow.identity, task.identity), profiles);
  if (handler === undefined || handler === null) return converted;
  const identity = merge(workflow.identity, handler.identity);
  return { ...converted, on_failure: withReferences(handler, identity, profiles) };
}

/** Null if the narrower scope has none, as it then inherits the reference. */
function merge(
  broad: Identity | null | undefined,
  narrow: Identity | null | undefined,
): Identity | null {
  if (narrow === undefined || narrow === null) return null;
  const said = Object.entries(narrow).filter(([, value]) => value !== null);
  return { ...broad, ...Object.fromEntries(said) };
}

function withReferences(
  scope: Workflow | Task | FailureHandler,
  identity: Identity | null,
  profiles: Profiles,
): JsonRecord {
  const { identity: _, ...rest } = scope;
  if (identity === null) return rest;
  if (isStructuredIdentity(identity)) return { ...scope };
  const ref = profiles.identityFor(identity);
  const proof = profiles.proofFor(identity);
  return {
    ...rest,
    ...(ref === undefined ? {} : { identity: { ref } }),
    ...(proof === undefined ? {} : { authorization_proof: { ref: proof } }),
  };
}

/** The created profiles, one per distinct identity. */
class Profiles {
  readonly #identities = new Map<string, JsonRecord>();
  readonly #proofs = new Map<string, JsonRecord>();
  readonly #owners = new Map<string, string>();

  get identities(): readonly JsonRecord[] {
    return [...this.#identities.values()];
  }

  get proofs(): readonly JsonRecord[] {
    return [...this.#proofs.values()];
  }

  identityFor({ principal, run_as }: Identity): string | undefined {
    if (!principal && !run_as) return undefined;
    const key = JSON.stringify({ principal: principal ?? null, run_as: run_as ?? null });
    const known = this.#identities.get(key)?.["id"];
    if (typeof known === "string") return known;
    const base = `converted-${slug(principal, "identity")}`;
    const id = this.#owners.has(base) ? `${base}-${shortHash(key)}` : base;
    this.#owners.set(id, key);
    this.#identities.set(key, {
      id,
      provider: "none",
      subject: {
        kind: "unknown",
        principal: principal ?? null,
        display_name: null,
        run_as: run_as ?? null,
        delegation_mode: "none",
      },
      trust: { level: "supervised" },
      presentation: { handoff: "none", cleanup: "always" },
    });
    return id;
  }

  proofFor({ attestation }: Identity): string | undefined {
    if (attestation === undefined || attestation === null) return undefined;
    const id = `legacy-${slug(attestation, "attestation")}-${shortHash(attestation)}`;
    this.#proofs.set(id, { id, method: "none", verify: { required: false } });
    return id;
  }
}

function slug(text: string | null | undefined, fallback: string): string {
  const letters = (text ?? "").replace(/[^a-zA-Z0-9]+/g, "-").replace(/^-|-$/g, "");
  return letters.slice(0, 32) || fallback;
}

function shortHash(text: string): string {
  return hash("sha256", text).slice(0, 10);
}
