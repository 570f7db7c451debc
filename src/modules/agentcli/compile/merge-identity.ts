/**
 * The three-stage merge of identity: profile, workflow, task, the narrower one winning key by key.
 * Lists and attributes are replaced whole, provider settings are merged one level deep.
 * agentcli execution identity "Merge"
 */
import type { JsonRecord } from "../../../base/json-value.ts";
import type {
  Auth,
  Binding,
  Identity,
  IdentityParts,
  IdentityProfile,
  Presentation,
  Subject,
  Trust,
} from "../manifest/identity-blocks.ts";
import { isStructuredIdentity, type TrustLevel } from "../manifest/identity-fields.ts";
import { mergeMaps, pick } from "./pick.ts";

/** Identity as 0.1 has it, merged. */
export interface FlatIdentity {
  readonly principal: string | null;
  readonly run_as: string | null;
  readonly attestation: string | null;
}

/** Every leaf is there; null is what nobody said. */
export interface MergedParts {
  readonly subject: {
    readonly kind: string | null;
    readonly principal: string | null;
    readonly display_name: string | null;
    readonly run_as: string | null;
    readonly issuer: string | null;
    readonly delegation_mode: string | null;
    readonly attributes: JsonRecord | null;
  };
  readonly auth: {
    readonly mode: string | null;
    readonly scopes: readonly unknown[] | null;
    readonly audience: string | null;
    readonly resource: string | null;
    readonly cache: string | null;
    readonly refresh: string | null;
    readonly required: boolean | null;
    readonly delegation_policy: {
      readonly max_depth: number | null;
      readonly allowed_delegators: readonly unknown[] | null;
      readonly require_grant_per_hop: boolean | null;
    };
    readonly provider_config: JsonRecord | null;
    readonly inputs: JsonRecord | null;
  };
  readonly trust: {
    readonly level: TrustLevel | null;
    readonly constraints: {
      readonly escalation: string | null;
      readonly max_autonomy: TrustLevel | null;
      readonly escalation_timeout: string | null;
      readonly require_justification: boolean | null;
    };
  };
  readonly presentation: {
    readonly bindings: readonly Binding[] | null;
    readonly handoff: string | null;
    readonly cleanup: string | null;
    readonly default_redaction: boolean | null;
  };
}

/** Identity as 0.2 has it, of workflow and task. */
export interface DeclaredIdentity extends MergedParts {
  readonly ref: string | null;
  readonly scope: string | null;
}

/** The same with its profile: what a provider works with. */
export interface EffectiveIdentity extends MergedParts {
  readonly ref: string | null;
  readonly provider: string | null;
}

/** The identity that workflow and task declare together. */
export function declareIdentity(
  workflow: Identity | null | undefined,
  task: Identity | null | undefined,
): FlatIdentity | DeclaredIdentity {
  const broad = workflow ?? {};
  const narrow = task ?? {};
  if (!isStructured(broad) && !isStructured(narrow)) {
    return {
      principal: pick(narrow.principal, broad.principal),
      run_as: pick(narrow.run_as, broad.run_as),
      attestation: pick(narrow.attestation, broad.attestation),
    };
  }
  return {
    ref: pick(narrow.ref, broad.ref),
    scope: pick(narrow.scope, broad.scope),
    ...mergeParts(broad, narrow),
  };
}

/** Tells whether a declaration is of the structured form. */
export function isDeclared(
  identity: FlatIdentity | DeclaredIdentity,
): identity is DeclaredIdentity {
  return "subject" in identity;
}

/** Lays a declaration over the profile that it names. */
export function applyProfile(
  profile: IdentityProfile | undefined,
  declared: DeclaredIdentity,
): EffectiveIdentity {
  const settings = mergeMaps(profile?.auth?.provider_config, profile?.provider_config);
  const base: IdentityParts = {
    ...profile,
    auth: { ...profile?.auth, provider_config: settings },
  };
  return {
    ref: declared.ref ?? profile?.id ?? null,
    provider: profile?.provider ?? null,
    ...mergeParts(base, declared),
  };
}

function isStructured(identity: Identity): boolean {
  return isStructuredIdentity(identity as JsonRecord);
}

function mergeParts(broad: IdentityParts, narrow: IdentityParts): MergedParts {
  return {
    subject: mergeSubject(broad.subject ?? {}, narrow.subject ?? {}),
    auth: mergeAuth(broad.auth ?? {}, narrow.auth ?? {}),
    trust: mergeTrust(broad.trust ?? {}, narrow.trust ?? {}),
    presentation: mergePresentation(broad.presentation ?? {}, narrow.presentation ?? {}),
  };
}

function mergeSubject(broad: Subject, narrow: Subject): MergedParts["subject"] {
  return {
    kind: pick(narrow.kind, broad.kind),
    principal: pick(narrow.principal, broad.principal),
    display_name: pick(narrow.display_name, broad.display_name),
    run_as: pick(narrow.run_as, broad.run_as),
    issuer: pick(narrow.issuer, broad.issuer),
    delegation_mode: pick(narrow.delegation_mode, broad.delegation_mode),
    attributes: pick(narrow.attributes, broad.attributes),
  };
}

function mergeAuth(broad: Auth, narrow: Auth): MergedParts["auth"] {
  const broadPolicy = broad.delegation_policy ?? {};
  const policy = narrow.delegation_policy ?? {};
  return {
    mode: pick(narrow.mode, broad.mode),
    scopes: pick(narrow.scopes, broad.scopes),
    audience: pick(narrow.audience, broad.audience),
    resource: pick(narrow.resource, broad.resource),
    cache: pick(narrow.cache, broad.cache),
    refresh: pick(narrow.refresh, broad.refresh),
    required: pick(narrow.required, broad.required),
    delegation_policy: {
      max_depth: pick(policy.max_depth, broadPolicy.max_depth),
      allowed_delegators: pick(policy.allowed_delegators, broadPolicy.allowed_delegators),
      require_grant_per_hop: pick(policy.require_grant_per_hop, broadPolicy.require_grant_per_hop),
    },
    provider_config: mergeMaps(narrow.provider_config, broad.provider_config),
    inputs: mergeMaps(narrow.inputs, broad.inputs),
  };
}

function mergeTrust(broad: Trust, narrow: Trust): MergedParts["trust"] {
  const outer = broad.constraints ?? {};
  const inner = narrow.constraints ?? {};
  return {
    level: pick(narrow.level, broad.level),
    constraints: {
      escalation: pick(inner.escalation, outer.escalation),
      max_autonomy: pick(inner.max_autonomy, outer.max_autonomy),
      escalation_timeout: pick(inner.escalation_timeout, outer.escalation_timeout),
      require_justification: pick(inner.require_justification, outer.require_justification),
    },
  };
}

function mergePresentation(broad: Presentation, narrow: Presentation): MergedParts["presentation"] {
  return {
    bindings: pick(narrow.bindings, broad.bindings),
    handoff: pick(narrow.handoff, broad.handoff),
    cleanup: pick(narrow.cleanup, broad.cleanup),
    default_redaction: pick(narrow.default_redaction, broad.default_redaction),
  };
}
