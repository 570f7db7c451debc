/** The fields of identity: who a task acts as, how it authenticates, how far it is trusted. */
import {
  among,
  BOOLEAN,
  block,
  type Field,
  type Fields,
  integer,
  list,
  MAP,
  REQUIRED_STRING,
  STRING,
  TOKEN,
} from "./field.ts";

/** Weakest first. */
export const TRUST_LEVELS = ["untrusted", "restricted", "supervised", "autonomous"] as const;
/** One of them. */
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
  provider_config: MAP,
  inputs: MAP,
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
  provider_config: MAP,
};

/** Tells whether an identity is of the structured form. */
export function isStructuredIdentity(identity: object): boolean {
  const members = Object.entries(identity);
  return members.some(
    ([key, value]) => Object.hasOwn(STRUCTURED_IDENTITY, key) && (value ?? null) !== null,
  );
}
