/**
 * The profiles of a manifest, and who refers to them: profiles that name what this program does not have
 * or lack what their provider needs, references to none, settings that nobody reads, modes, handoffs and
 * trust that an identity does not have, wherever in profile, workflow or task they are said. Such a task
 * could only fail. Nothing is asked and nothing is read.   agentcli spec "Profiles", "Providers"
 */
import { isRecord, type JsonRecord, recordIn, valueAt } from "../../../base/json-value.ts";
import { AUTHORIZATION_PROVIDERS } from "../governance/authorization.ts";
import { EVIDENCE_PROVIDERS } from "../governance/evidence.ts";
import { PROOF_VERIFIERS } from "../governance/proof.ts";
import { findUnable, IDENTITY_PROVIDERS } from "../identity/providers.ts";
import { compareTrust, TRUST_LEVELS, type TrustLevel } from "./fields.ts";
import type { Findings, ProfileFault } from "./finding.ts";

interface Registered {
  /** The keys of `provider_config`; undefined: profiles of this kind have none. */
  readonly settings?: readonly string[];
  check(profile: JsonRecord): readonly ProfileFault[];
}

interface Kind {
  /** The block that refers to profiles of this kind, and their list. */
  readonly block: string;
  readonly list: string;
  /** The member that names a provider, or a verifier. */
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

/** A block that says something, and where it stands. */
type Layer = readonly [path: string, block: JsonRecord];

/** By the block that refers to them, and by id. */
type Profiles = Readonly<Record<string, ReadonlyMap<unknown, Layer>>>;

type Fail = (path: string, message: string) => void;

/** Checks the profiles of a manifest, and every workflow, task and handler of failures. */
export function checkProfiles(findings: Findings, manifest: JsonRecord): void {
  const reported = new Set<string>();
  const fail = (path: string, message: string): void => {
    // One line for what many tasks inherit.
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
    // A workflow is no task: for what it requires, each of its tasks may name a profile.
    if (layers.length > 1) checkEvidence(layersOf(layers, "evidence", profiles), fail);
  }
}

/** The objects of a list with their paths; what is none has been reported. */
export function records(path: string, value: unknown): readonly Layer[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((item, index) => (isRecord(item) ? [[`${path}[${index}]`, item]] : []));
}

/** Every workflow, and every task and handler of failures with its workflow behind it. */
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

/** Of two with one id, which has been reported, the first counts. */
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
    // A value that is missing or no text has been reported; a proof without a method is "none".
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

/** The settings that nobody reads: a misspelt one must not look heeded. */
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

/** The blocks of a kind, narrowest first, the profile that they refer to behind them. */
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

/** Evidence that a task must give, where no profile is named or one that gives none: it would give none in silence. */
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

/** The narrowest layer that says it. */
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

/** A task must not ask for more trust than the identity that it resolves to may have. */
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
