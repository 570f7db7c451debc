/**
 * Translates a configuration of the reference implementation for `agtpd init --from`: each key into
 * the equivalent one, or into the reason there is none.
 */

import { dirname, resolve } from "node:path";
import { literalValue } from "../../base/environment.ts";
import { isRecord, type JsonRecord, memberOf } from "../../base/json-value.ts";
import { parseToml, toJson } from "../../base/toml-document.ts";
import { holdsCertificates } from "../../endpoint/upstream-ca.ts";
import { readText, usage } from "../shell/command.ts";
import type { Terminal } from "../shell/terminal.ts";

/** A key without an equivalent, and what to do instead. */
export interface Loss {
  readonly key: string;
  readonly reason: string;
}

/** The translated configuration. */
export interface Translation {
  readonly serverId: string | undefined;
  readonly operator: string | undefined;
  readonly contact: string | undefined;
  /** Tables of agtp-server.toml, beyond those of every new deployment. */
  readonly tables: JsonRecord;
  readonly losses: readonly Loss[];
  /** The content of referenced files, by path in the new deployment. */
  readonly files: Readonly<Record<string, string>>;
}

type TranslationResult = Translation | { readonly fault: string };

/** Reads a file that the configuration names; undefined if it cannot be read. */
type ReadNamed = (path: string) => string | undefined;

/** The reader of named files, and the files carried over so far. */
interface Carrying {
  readonly read: ReadNamed;
  readonly files: Record<string, string>;
}

/** The equivalent key, the reason there is none, or a function of the value that returns both. */
type Rule = string | { readonly reason: string } | ((value: unknown, files: Carrying) => Meaning);

interface Meaning {
  readonly key?: string;
  readonly value?: unknown;
  readonly reason?: string;
}

const NO_PLACE = { reason: "records, journal and state are in .agtp" } as const;

/** Keys with the same name and meaning. */
const SAME: readonly string[] = [
  ...["server.server_id", "server.contact", "server.domain", "policies.wildcards_accepted"],
  ...["policies.anonymous_discovery", "policies.scope_required_for_invocation"],
  ...["policies.synthesis_enabled", "policies.max_synthesis_depth", "policies.methods.allow"],
  ...["policies.methods.disallow", "policies.methods.legacy", "policies.methods.redirects"],
  ...["policies.methods.aliases", "policies.rcns.enabled", "policies.rcns.min_trust_tier"],
  ...["policies.rcns.on_policy_change", "agents.disclosure"],
];

/** Rules by the reference's key; "policy" is read as "policies". */
const RULES: Readonly<Record<string, Rule>> = {
  ...Object.fromEntries(SAME.map((key) => [key, key])),
  "server.issuer": "server.server_id",
  "server.operator": (value) => (value === "unspecified" ? {} : { key: "server.operator", value }),
  "server.issued": { reason: "the manifest's dates are derived from what is served" },
  "policies.negotiable": { reason: "[policies.rcns] enabled says it" },
  "policies.rcns.max_negotiations_per_minute": "policies.rcns.rate_limit_per_minute",
  "policies.rcns.idempotency_window_seconds": { reason: "Idempotency-Key has a window of its own" },
  "policies.rcns.require_verified_identity": {
    reason: 'set [policies.identity] assurance = "certificate" and [tls] client_auth',
  },
  "policies.rcns.state_backend": { reason: "[store] keeps contracts" },
  "policies.rcns.state_path": { reason: "[store] keeps contracts" },
  "policies.oauth.enabled": (value) =>
    value === true ? { reason: "set issuer, audience and jwks_uri in [policies.oauth]" } : {},
  "policies.oauth.required_on_methods": {
    reason: "set it in [policies.oauth], with issuer, audience and jwks_uri",
  },
  "policies.oauth.validator": { reason: "tokens are JWTs of [policies.oauth] issuer" },
  "policies.oauth.validator_config": {
    reason: "set issuer, audience and jwks_uri in [policies.oauth]",
  },
  "policies.oauth.principal_id_claim": { reason: "set principal_claim in [policies.oauth]" },
  "policies.oauth.allow_noop_validator": { reason: "a token is validated, or not asked for" },
  "synthesis.policies": (value) =>
    String(value) === "recipes"
      ? {}
      : { reason: "contracts come from recipes, endpoints and chains" },
  "synthesis.recipes_file": carried({
    to: "recipes/recipes.toml",
    isOne: (text) => parseToml(text).fault === undefined,
    otherwise: "put its recipes into recipes/",
  }),
  "synthesis.session_duration": seconds("synthesis.session_ttl_seconds"),
  "synthesis.persistent_default_duration": seconds("synthesis.persistent_default_seconds"),
  "synthesis.persistent_max_duration": seconds("synthesis.persistent_max_seconds"),
  "synthesis.async_evaluation_enabled": "synthesis.async_evaluation",
  "synthesis.max_evaluation_duration": { reason: "an evaluation has a bound of its own" },
  "audit.path": (value) =>
    value === "stderr" ? {} : { reason: "the log is on standard output, records are in .agtp" },
  "audit.attribution_records_enabled": "attribution.enabled",
  "audit.chain_head_root": NO_PLACE,
  "audit.records_root": NO_PLACE,
  "audit.lifecycle_root": NO_PLACE,
  "audit.mode": (value) => (value === "jws" ? {} : { reason: "records are JWS" }),
  "audit.read_acl": "policies.identity.inspect_acl",
  "audit.read_acl_operator_keys": {
    reason:
      "set the fingerprints of operators' certificates in [policies.identity] operator_certificates",
  },
  "audit.lifecycle_auth": "policies.identity.lifecycle_auth",
  "gateway.socket": { reason: "handlers in other languages are [[processes]]" },
  "signing.enabled": (value) =>
    value === false ? { reason: "a key was made: what is served here is signed" } : {},
  "signing.key_path": {
    reason: "copy the key, Ed25519 as PEM, over .agtp/keys/signing.pem to go on under it",
  },
  "signing.key_id": { reason: "it is derived from the key" },
  "mtls.mode": (value) => ({
    key: "tls.client_auth",
    value: value === "disabled" ? "none" : value,
  }),
  "mtls.ca_bundle_path": carried({
    to: "tls/agents-ca.pem",
    key: "tls.client_ca",
    isOne: holdsCertificates,
    otherwise: "copy its certificates into the deployment and name the file in [tls] client_ca",
  }),
  "mtls.require_agent_id_match": (value) =>
    value === true ? {} : { reason: "header and certificate always have to agree" },
  apis: {
    reason: "paths are endpoint files; [[apis]] lists HTTP interfaces, with name and base_url",
  },
  hosted_protocols: { reason: "here it names the method and path that serve the protocol" },
  hosts_protocols: { reason: "see [[hosted_protocols]]" },
};

/** Sections and keys that only the reference has. */
const SIGNS = [/^audit\./, /^mtls\./, /^gateway\.socket$/, /^signing\.key_path$/];
const MORE_SIGNS = [
  /^synthesis\.(?:recipes_file|.*_duration|policies)$/,
  /^policy\./,
  /^hosts_pro/,
];

/** Translates the text of a configuration. */
export function translateReference(text: string, read: ReadNamed): TranslationResult {
  const { table, fault } = parseToml(text.replace(/^\ufeff/, ""));
  if (table === undefined) return { fault };
  const values = toJson(table);
  if (!isRecord(values)) return { fault: "has values that no configuration has" };
  const flat = flatten(values);
  const isReference = flat.some(([key]) => [...SIGNS, ...MORE_SIGNS].some((one) => one.test(key)));
  if (!isReference) {
    const expected = "the agtp-server.toml of the reference implementation";
    return { fault: `is not ${expected}: it has none of [audit], [mtls], synthesis.recipes_file` };
  }
  const tables: Record<string, unknown> = {};
  const losses: Loss[] = [];
  const files: Record<string, string> = {};
  for (const [given, value] of flat) {
    const key = given
      .replace(/^policy\./, "policies.")
      .replace(/^policies\.synthesis\./, "synthesis.");
    const meaning = meaningOf(key, value, { read, files });
    if (meaning.reason !== undefined) losses.push({ key: given, reason: meaning.reason });
    if (meaning.key !== undefined) put(tables, meaning.key.split("."), meaning.value);
  }
  const { server: named = {}, ...rest } = tables;
  const { server_id: serverId, operator, contact, ...others } = named as JsonRecord;
  return {
    ...{ serverId: textOf(serverId), operator: textOf(operator), contact: textOf(contact) },
    ...{ losses, files },
    tables: literalValue(Object.keys(others).length === 0 ? rest : { server: others, ...rest }),
  };
}

function meaningOf(key: string, value: unknown, files: Carrying): Meaning {
  const rule = memberOf(RULES, key);
  if (rule === undefined) return { reason: "is not known" };
  // In the reference an empty text stands for an absent key.
  if (value === "") return {};
  if (typeof rule === "string") return { key: rule, value };
  return typeof rule === "function" ? rule(value, files) : rule;
}

interface CarriedFile {
  /** The file's path in the deployment. */
  readonly to: string;
  /** The key that names the file; undefined if none does. */
  readonly key?: string;
  readonly isOne: (text: string) => boolean;
  readonly otherwise: string;
}

/** Creates the rule for a file that is carried over. */
function carried({ to, key, isOne, otherwise }: CarriedFile): Rule {
  return (written, { read, files }) => {
    const path = String(written);
    const text = read(path);
    if (text === undefined || !isOne(text)) {
      return { reason: `${JSON.stringify(path)} cannot be read: ${otherwise}` };
    }
    files[to] = text;
    return key === undefined ? {} : { key, value: to };
  };
}

function seconds(key: string): Rule {
  return (value) => {
    const [, count, unit = "s"] = /^(\d{1,9})([smhdw])?$/.exec(String(value).trim()) ?? [];
    if (count === undefined) return { reason: `is no duration: set ${key}` };
    const length = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 }[unit] ?? 1;
    return { key, value: Number(count) * length };
  };
}

/** Lists values by their dotted keys; a table that has a rule of its own is not split. */
function flatten(table: JsonRecord, prefix = ""): readonly (readonly [string, unknown])[] {
  return Object.entries(table).flatMap(([name, value]) => {
    const key = `${prefix}${name}`;
    const isWhole = Object.hasOwn(RULES, key.replace(/^policy\./, "policies."));
    return isRecord(value) && !isWhole ? flatten(value, `${key}.`) : [[key, value] as const];
  });
}

function put(table: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [name = "", ...rest] = path;
  if (rest.length === 0) {
    table[name] = value;
    return;
  }
  table[name] ??= {};
  put(table[name] as Record<string, unknown>, rest, value);
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/**
 * Reads and translates a configuration; throws ERR_AGTP_REQUEST if the file cannot be read, or is
 * another program's.
 */
export function readReference(
  file: string,
  { directory }: Pick<Terminal, "directory">,
): Translation {
  const home = resolve(directory, dirname(file));
  const translated = translateReference(readText(directory, file), (path) => {
    try {
      return readText(home, path);
    } catch {
      return undefined;
    }
  });
  if ("fault" in translated) throw usage(`${JSON.stringify(file)} ${translated.fault}`);
  return translated;
}
