/**
 * Checks profiles and references to them: unknown providers, missing settings, dangling references, unused settings,
 * and modes, handoffs or trust that an identity cannot have, in profile, workflow or task. Such a task could only fail.
 * No provider is asked and no file read.   agentcli spec "Profiles", "Providers"
 */
import { isRecord, type JsonRecord, recordIn, valueAt } from "../../../base/json-value.ts";
import { AUTHORIZATION_PROVIDERS } from "../governance/authorization.ts";
import { EVIDENCE_PROVIDERS } from "../governance/evidence.ts";
import { PROOF_VERIFIERS } from "../governance/proof.ts";
import { findUnable, IDENTITY_PROVIDERS } from "../identity/providers.ts";
import { compareTrust, TRUST_LEVELS, type TrustLevel } from "./fields.ts";
import type { Findings, ProfileFault } from "./finding.ts";

interface Registered {
  /** The keys of `provider_config`; undefined if profiles of this kind have none. */
  readonly settings?: readonly string[];
  check(profile: JsonRecord): readonly ProfileFault[];
}

interface Kind {
  /** The block that references profiles of this kind, and their list. */
  readonly block: string;
  readonly list: string;
  /** The member that names a provider or verifier. */
  readonly key: string;
  readonly title: string;
  readonly known: ReadonlyMap<string, Registered>;
}

const KINDS: readonly Kind[] = [
  {
    ...{ block: "identity", list: "identity_profiles" },
    ...{ key: "provider", title: "identity provider", known: IDENTITY_PROVIDERS },
  },
  {
    ...{ block: "authorization_proof", list: "authorization_proof_profiles" },
    ...{ key: "method", title: "authorization proof verifier", known: PROOF_VERIFIERS },
  },
  {
    ...{ block: "authorization", list: "authorization_profiles" },
    ...{ key: "provider", title: "authorization provider", known: AUTHORIZATION_PROVIDERS },
  },
  {
    ...{ block: "evidence", list: "evidence_profiles" },
    ...{ key: "provider", title: "evidence provider", known: EVIDENCE_PROVIDERS },
  },
];

/** A block with its path. */
type Layer = readonly [path: string, block: JsonRecord];

/** Profiles by referring block and id. */
type Profiles = Readonly<Record<string, ReadonlyMap<unknown, Layer>>>;

type Fail = (path: string, message: string) => void;

/** Checks the profiles of a manifest, and all its workflows, tasks and failure handlers. */
export function checkProfiles(findings: Findings, manifest: JsonRecord): void {
  const reported = new Set<string>();
  const fail = (path: string, message: string): void => {
    // A fault that many tasks inherit is reported once.
    if (reported.has(`${path} ${message}`)) return;
    reported.add(`${path} ${message}`);
    findings.error(path, message);
  };
  const scopes = scopesOf(manifest);
  const profiles = profilesOf(manifest);
  if (manifest["version"] === "0.2") {
    for (const kind of KINDS) checkList(kind, manifest, fail);
    for (const layers of scopes) {
      checkIdentity(layersOf(layers, "identity", profiles), fail);
      checkAuthorization(layersOf(layers, "authorization", profiles), fail);
    }
  }
  for (const [scope] of scopes) checkReferences(scope, profiles, fail);
  for (const layers of scopes) {
    checkAutonomy(layers, profiles, fail);
    // Only tasks need evidence profiles: a workflow's requirement may be met by each task.
    if (layers.length > 1) checkEvidence(layersOf(layers, "evidence", profiles), fail);
  }
}

/** The objects of a list with their paths; other items have been reported. */
export function records(path: string, value: unknown): readonly Layer[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((item, index) => (isRecord(item) ? [[`${path}[${index}]`, item]] : []));
}

/** Every workflow, and every task and failure handler followed by its workflow. */
function scopesOf(manifest: JsonRecord): readonly (readonly [Layer, Layer?])[] {
  return records("$.workflows", manifest["workflows"]).flatMap((workflow) => {
    const [path, { tasks }] = workflow;
    const narrower = records(`${path}.tasks`, tasks).flatMap((task): readonly Layer[] => {
      const [place, { on_failure: handler }] = task;
      return isRecord(handler) ? [task, [`${place}.on_failure`, handler]] : [task];
    });
    return [[workflow], ...narrower.map((scope): [Layer, Layer] => [scope, workflow])];
  });
}

/** Of duplicate ids, which have been reported, the first counts. */
function profilesOf(manifest: JsonRecord): Profiles {
  const lists = KINDS.map(({ block, list }) => {
    const profiles = records(`$.${list}`, manifest[list]).toReversed();
    return [block, new Map(profiles.map((layer) => [layer[1]["id"], layer]))] as const;
  });
  return Object.fromEntries(lists);
}

function checkList({ list, key, title, known }: Kind, manifest: JsonRecord, fail: Fail): void {
  for (const [path, profile] of records(`$.${list}`, manifest[list])) {
    const name = profile[key];
    // Missing and non-text values have been reported; a proof without a method has method "none".
    if (typeof name !== "string" || name.trim() === "") continue;
    const registered = known.get(name);
    if (registered === undefined) {
      fail(`${path}.${key}`, `unknown ${title} "${name}"`);
      continue;
    }
    for (const [field, message] of registered.check(profile)) fail(`${path}.${field}`, message);
    if (registered.settings === undefined) continue;
    checkSettings(path, profile, registered.settings, fail);
    checkSettings(`${path}.auth`, recordIn(profile["auth"]), registered.settings, fail);
  }
}

/** Reports unknown settings, since a misspelt one would be ignored silently. */
function checkSettings(
  path: string,
  { provider_config: settings }: JsonRecord,
  known: readonly string[],
  fail: Fail,
): void {
  const expected = known.length === 0 ? "this provider has none" : `one of: ${known.join(", ")}`;
  for (const key of Object.keys(recordIn(settings))) {
    if (known.includes(key)) continue;
    const message = `unknown provider_config key "${key}", ${expected}`;
    fail(`${path}.provider_config.${key}`, message);
  }
}

/** The blocks of a kind, narrowest first, then the referenced profile. */
function layersOf(
  scopes: readonly (Layer | undefined)[],
  block: string,
  profiles: Profiles,
): readonly Layer[] {
  const own = scopes.flatMap((scope): readonly Layer[] => {
    const value = scope?.[1][block];
    return isRecord(value) ? [[`${scope?.[0]}.${block}`, value]] : [];
  });
  const ref = own.map(([, { ref: name }]) => name).find((name) => typeof name === "string");
  const profile = ref === undefined ? undefined : profiles[block]?.get(ref);
  return profile === undefined ? own : [...own, profile];
}

function checkIdentity(layers: readonly Layer[], fail: Fail): void {
  const provider = IDENTITY_PROVIDERS.get(String(layers.at(-1)?.[1]["provider"]));
  if (provider === undefined) return;
  const [mode, handoff] = [find(layers, "auth", "mode"), find(layers, "presentation", "handoff")];
  const asked = {
    auth: { mode: mode?.value ?? null },
    presentation: { handoff: handoff?.value ?? null },
  };
  for (const { field, message } of findUnable(asked, provider.capabilities)) {
    fail(`${field === "auth.mode" ? mode?.path : handoff?.path}.${field}`, message);
  }
  for (const [path, block] of layers.slice(0, -1)) {
    checkSettings(`${path}.auth`, recordIn(block["auth"]), provider.settings, fail);
  }
}

function checkAuthorization(layers: readonly Layer[], fail: Fail): void {
  const provider = AUTHORIZATION_PROVIDERS.get(String(layers.at(-1)?.[1]["provider"]));
  if (provider === undefined) return;
  for (const [path, block] of layers.slice(0, -1)) {
    checkSettings(path, block, provider.settings, fail);
  }
}

/** Checks that required evidence has a profile that gives any: otherwise none would be given silently. */
function checkEvidence(layers: readonly Layer[], fail: Fail): void {
  const profile = layers.map(([, block]) => block).find(({ id }) => id !== undefined);
  const isNamed = layers.some(([, { ref }]) => (ref ?? null) !== null);
  if (profile === undefined ? isNamed : profile["provider"] !== "none") return;
  const what = profile === undefined ? "no profile" : 'provider "none"';
  for (const [path, { verify }] of layers) {
    if (recordIn(verify)["required"] !== true) continue;
    fail(`${path}.verify.required`, `${what} cannot satisfy verify.required: true`);
  }
}

/** The narrowest layer that sets a member. */
function find(
  layers: readonly Layer[],
  block: string,
  member: string,
): { readonly path: string; readonly value: string } | undefined {
  for (const [path, layer] of layers) {
    const value = recordIn(layer[block])[member];
    if (typeof value === "string" && value !== "") return { path, value };
  }
  return undefined;
}

function checkReferences([path, scope]: Layer, profiles: Profiles, fail: Fail): void {
  for (const [block, known] of Object.entries(profiles)) {
    const { ref } = recordIn(scope[block]);
    if (typeof ref !== "string" || ref === "" || known.has(ref)) continue;
    fail(`${path}.${block}.ref`, `references unknown ${block} profile "${ref}"`);
  }
}

/** Checks a task's trust level against the limits of its resolved identity. */
function checkAutonomy(
  [[path, scope], outer]: readonly [Layer, Layer?],
  profiles: Profiles,
  fail: Fail,
): void {
  if (outer === undefined) return;
  const [outerPath, workflow] = outer;
  const layers = layersOf([[path, scope], outer], "identity", profiles);
  const [most] = layers.flatMap(([, identity]) => {
    return levelAt(identity, ["trust", "constraints", "max_autonomy"]) ?? [];
  });
  const place = ["contract", "required_trust_level"];
  const own = levelAt(scope, place);
  const required = own ?? levelAt(workflow, place);
  if (most === undefined || required === undefined || compareTrust(required, most) <= 0) return;
  const message = `must not exceed resolved identity max_autonomy "${most}"`;
  fail(`${own === undefined ? outerPath : path}.contract.required_trust_level`, message);
}

function levelAt(value: unknown, names: readonly string[]): TrustLevel | undefined {
  const found = valueAt(value, names);
  return TRUST_LEVELS.find((level) => level === found);
}
