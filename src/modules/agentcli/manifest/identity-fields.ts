/**
 * The fields of identity: who a task acts as, how it authenticates, how far it is trusted; and the
 * same as types, of a manifest that was found valid. Null is the same as absent.
 */

import type { JsonRecord } from "../../../base/json-value.ts";
import {
  among,
  BOOLEAN,
  block,
  type Field,
  type Fields,
  integer,
  type Loose,
  type LooseTexts,
  list,
  MAP,
  MERGED_MAP,
  REQUIRED_STRING,
  STRING,
  TOKEN,
} from "./field.ts";

/** Weakest first. */
export const TRUST_LEVELS = ["untrusted", "restricted", "supervised", "autonomous"] as const;
/** How far an identity trusts a caller. */
export type TrustLevel = (typeof TRUST_LEVELS)[number];

/** Compares two levels: negative where the first is the weaker one. */
export function compareTrust(one: TrustLevel, other: TrustLevel): number {
  return TRUST_LEVELS.indexOf(one) - TRUST_LEVELS.indexOf(other);
}

/** A trust level. */
export const TRUST_LEVEL: Field = among(...TRUST_LEVELS);

const SUBJECT = block({
  kind: among("agent", "service", "workload", "user", "composite", "delegated-agent", "unknown"),
  principal: STRING,
  display_name: STRING,
  run_as: TOKEN,
  issuer: STRING,
  delegation_mode: among("none", "on-behalf-of", "impersonation"),
  attributes: MAP,
});

const AUTH = block({
  mode: among("none", "service", "delegated", "on-behalf-of", "impersonation", "exchange"),
  scopes: list(),
  audience: STRING,
  resource: STRING,
  cache: among("none", "memory", "state"),
  refresh: among("never", "manual", "auto"),
  required: BOOLEAN,
  delegation_policy: block({
    max_depth: integer(1),
    allowed_delegators: list(),
    require_grant_per_hop: BOOLEAN,
  }),
  provider_config: MERGED_MAP,
  inputs: MERGED_MAP,
});

const TRUST = block({
  level: TRUST_LEVEL,
  constraints: block({
    escalation: among("fail", "human-approval", "log-and-proceed"),
    max_autonomy: TRUST_LEVEL,
    escalation_timeout: STRING,
    require_justification: BOOLEAN,
  }),
});

const BINDING = block(
  {
    source: REQUIRED_STRING,
    target: block({
      kind: among("env", "file", "stdin", "none"),
      name: STRING,
      prefix: STRING,
      expose_as: STRING,
    }),
    required: BOOLEAN,
    redact: BOOLEAN,
    format: among("raw", "json", "base64"),
  },
  ["source"],
);

const PRESENTATION = block({
  handoff: among("none", "downscope", "transaction-token"),
  cleanup: among("always", "on-success", "on-failure", "never"),
  default_redaction: BOOLEAN,
  bindings: list(BINDING),
});

/** Identity as 0.1 has it. */
export const FLAT_IDENTITY: Fields = { principal: TOKEN, run_as: TOKEN, attestation: STRING };

/** Identity as 0.2 has it. Any of these, and the flat fields count no more. */
export const STRUCTURED_IDENTITY: Fields = {
  ref: STRING,
  scope: STRING,
  subject: SUBJECT,
  auth: AUTH,
  trust: TRUST,
  presentation: PRESENTATION,
};

/** An entry of identity_profiles. */
export const IDENTITY_PROFILE: Fields = {
  id: { kind: "identifier", required: true },
  provider: REQUIRED_STRING,
  subject: SUBJECT,
  auth: AUTH,
  trust: TRUST,
  presentation: PRESENTATION,
  provider_config: MERGED_MAP,
};

/** Tells whether an identity is of the structured form. */
export function isStructuredIdentity(identity: object): boolean {
  const members = Object.entries(identity);
  return members.some(
    ([key, value]) => Object.hasOwn(STRUCTURED_IDENTITY, key) && (value ?? null) !== null,
  );
}

/** Both forms; which of them counts is decided by the keys that are there. */
export type Identity = IdentityParts &
  LooseTexts<"principal" | "run_as" | "attestation" | "ref" | "scope">;

/** The members that profiles and structured identities share. */
export type IdentityParts = Loose<{
  subject: Subject;
  auth: Auth;
  trust: Loose<{ level: TrustLevel; constraints: TrustConstraints }>;
  presentation: Presentation;
}>;

/** An entry of identity_profiles. */
export interface IdentityProfile extends IdentityParts, Loose<{ provider_config: JsonRecord }> {
  readonly id: string;
  readonly provider: string;
}

/** The identity that a task acts under. */
export type Subject = Loose<{ attributes: JsonRecord }> &
  LooseTexts<"kind" | "principal" | "display_name" | "run_as" | "issuer" | "delegation_mode">;

/** Its way of authenticating. */
export type Auth = LooseTexts<"mode" | "audience" | "resource" | "cache" | "refresh"> &
  Loose<{
    scopes: readonly unknown[];
    required: boolean;
    delegation_policy: DelegationPolicy;
    provider_config: JsonRecord;
    inputs: JsonRecord;
  }>;

/** The bounds of handing authority on. */
export type DelegationPolicy = Loose<{
  max_depth: number;
  allowed_delegators: readonly unknown[];
  require_grant_per_hop: boolean;
}>;

/** The bound of its trust, and what happens beyond it. */
type TrustConstraints = LooseTexts<"escalation" | "escalation_timeout"> &
  Loose<{ max_autonomy: TrustLevel; require_justification: boolean }>;

/** The way in which credentials reach a program. */
type Presentation = LooseTexts<"handoff" | "cleanup"> &
  Loose<{ bindings: readonly Binding[]; default_redaction: boolean }>;

/** One credential, and where it goes. */
export interface Binding
  extends Loose<{ required: boolean; redact: boolean; format: "raw" | "json" | "base64" }> {
  readonly source: string;
  readonly target?:
    | (LooseTexts<"name" | "prefix" | "expose_as"> &
        Loose<{ kind: "env" | "file" | "stdin" | "none" }>)
    | null;
}
