/**
 * Asks Cedar policies in this process if a task may run: the identity is the principal, the task the resource, and the
 * included sections the context. A request is denied if no policy permits it or a policy cannot be read. The engine is
 * loaded on first use.   Cedar Policy Language "Authorization"
 */
import { createRequire } from "node:module";
import { resolve } from "node:path";
import type { CedarValueJson, EntityJson, EntityUidJson } from "@cedar-policy/cedar-wasm/nodejs";
import { readBoundedFile } from "../../../base/bounded-file.ts";
import { isRecord, type JsonRecord, recordIn, recordsIn } from "../../../base/json-value.ts";
import { type LateLoad, loadLate } from "../../../base/late-load.ts";
import type { ProfileFault } from "../manifest/finding.ts";

type Cedar = typeof import("@cedar-policy/cedar-wasm/nodejs");
type Question = Parameters<Cedar["isAuthorized"]>[0];

/** The Cedar engine. A stack overflow corrupts the memory of its WebAssembly module, which is then reloaded. */
class Engine {
  readonly #require = createRequire(import.meta.url);
  readonly #path = this.#require.resolve("@cedar-policy/cedar-wasm/nodejs");
  #load = this.#loading();

  /** Returns the answer; undefined if the engine failed, which reloads it for the next request. */
  async ask(question: Question): Promise<ReturnType<Cedar["isAuthorized"]> | undefined> {
    const { isAuthorized } = await this.#load();
    try {
      return isAuthorized(question);
    } catch {
      delete this.#require.cache[this.#path];
      this.#load = this.#loading();
      return undefined;
    }
  }

  #loading(): LateLoad<Cedar> {
    return loadLate(async () => this.#require(this.#path) as Cedar);
  }
}

const findEngine = loadLate(async () => new Engine());

/** The supported keys of `provider_config`. */
export const CEDAR_SETTINGS: readonly string[] = [
  ...["policies", "policies_file", "entities", "principal_type", "resource_type", "action"],
];

const MAX_POLICY_BYTES = 262_144;
const TYPE = /^[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*$/;
const USUAL = { principal_type: "Principal", resource_type: "Task", action: "run" } as const;

/** Reports settings that are missing or that Cedar cannot read. */
export function checkCedarSettings(settings: JsonRecord): readonly ProfileFault[] {
  const place = "provider_config.";
  const sources = [settings["policies"], settings["policies_file"]].filter(isText);
  const badTypes = (["principal_type", "resource_type"] as const).filter((key) => {
    const value = settings[key];
    return value !== undefined && (typeof value !== "string" || !TYPE.test(value));
  });
  const { entities, action } = settings;
  const faults: ProfileFault[] = badTypes.map((key) => [
    place + key,
    "must be the name of an entity type",
  ]);
  if (sources.length !== 1) {
    faults.unshift([`${place}policies`, "exactly one of policies and policies_file is required"]);
  }
  if (action !== undefined && !isText(action)) {
    faults.push([`${place}action`, "must be the id of an action"]);
  }
  if (entities !== undefined && !Array.isArray(entities)) {
    faults.push([`${place}entities`, "must be a list of entities in Cedar's JSON"]);
  }
  return faults;
}

export interface PolicyQuestion {
  /** The sections that the profile includes. */
  readonly request: JsonRecord;
  /** The identity, even if the request does not include it. */
  readonly principal: string;
}

/** Decides on a request. */
export async function askCedar(
  question: PolicyQuestion,
  settings: JsonRecord,
  directory: string,
): Promise<ProviderAnswer> {
  const policies = readPolicies(settings, directory);
  if (typeof policies !== "string") return policies;
  const engine = await findEngine();
  const { principal, resource } = whoAndWhat(question, settings);
  const action = { type: "Action", id: textOf(settings, "action") };
  const answer = await engine.ask({
    ...{ principal, action, resource, context: contextOf(question.request) },
    policies: { staticPolicies: policies },
    entities: entitiesOf(settings),
  });
  if (answer === undefined) {
    return { kind: "fault", message: "its policies are more than the engine can stand" };
  }
  if (answer.type === "failure") {
    const [first] = answer.errors;
    return {
      kind: "fault",
      message: `its policies cannot be used: ${first?.message ?? "unknown"}`,
    };
  }
  const { decision, diagnostics } = answer.response;
  const [broken] = diagnostics.errors;
  // Cedar ignores a failing policy, which might be one that forbids.
  if (broken !== undefined) {
    return { kind: "fault", message: `policy ${broken.policyId} fails: ${broken.error.message}` };
  }
  const named = diagnostics.reason.toSorted().join(", ");
  const reason = named === "" ? "no policy permits it" : `decided by ${named}`;
  return { kind: "answer", value: decision === "allow" ? "permit" : "deny", reason };
}

function readPolicies(settings: JsonRecord, directory: string): string | ProviderAnswer {
  const { policies, policies_file: file } = settings;
  if (isText(policies)) {
    const isTooLong = policies.length > MAX_POLICY_BYTES;
    return isTooLong ? { kind: "fault", message: "its policies are too long" } : policies;
  }
  if (!isText(file)) return { kind: "fault", message: "it has no policies" };
  const { text, fault } = readBoundedFile(resolve(directory, file), MAX_POLICY_BYTES);
  return text ?? { kind: "fault", message: `its policies_file ${fault}` };
}

function whoAndWhat({ request, principal }: PolicyQuestion, settings: JsonRecord) {
  const { workflow_id: workflow, task_id: task } = recordIn(request["source"]);
  return {
    principal: { type: textOf(settings, "principal_type"), id: principal },
    resource: { type: textOf(settings, "resource_type"), id: `${workflow}/${task}` },
  };
}

function textOf(settings: JsonRecord, key: keyof typeof USUAL): string {
  const value = settings[key];
  return isText(value) ? value : USUAL[key];
}

function entitiesOf({ entities }: JsonRecord): EntityJson[] {
  return recordsIn(entities).map(({ uid, attrs, parents }) => ({
    uid: uid as EntityUidJson,
    attrs: recordIn(attrs) as Record<string, CedarValueJson>,
    parents: (Array.isArray(parents) ? parents : []) as EntityUidJson[],
  }));
}

/** Cedar has neither null nor fractions. */
function contextOf(request: JsonRecord): Record<string, CedarValueJson> {
  return (cedarValue(request) ?? {}) as Record<string, CedarValueJson>;
}

function cedarValue(value: unknown): CedarValueJson | undefined {
  if (value === null || value === undefined) return undefined;
  if (Array.isArray(value)) return value.flatMap((item) => cedarValue(item) ?? []);
  if (typeof value === "number") return Number.isSafeInteger(value) ? value : String(value);
  if (!isRecord(value)) return value as CedarValueJson;
  const members = Object.entries(value).flatMap(([name, member]) => {
    const known = cedarValue(member);
    return known === undefined ? [] : [[name, known] as const];
  });
  return Object.fromEntries(members);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}

/** An answer in the provider's own words. */
export type ProviderAnswer =
  | { readonly kind: "answer"; readonly value: string; readonly reason: string | null }
  | { readonly kind: "fault"; readonly message: string };
