/** A credential session: an identity provider's result, and its view without secrets. */

import type { EffectiveIdentity } from "../compile/merge.ts";
import type { TrustLevel } from "../manifest/fields.ts";

/** A principal of a delegation chain. */
export interface Hop {
  readonly kind: string;
  readonly principal: string | null;
  readonly grant: string | null;
  readonly validated: boolean;
  /** The end of the grant; null if unlimited or unknown. */
  readonly expires_at: string | null;
}

/** The verdict on a delegation chain. */
export interface DelegationVerdict {
  readonly valid: boolean;
  readonly depth: number;
  readonly acyclic: boolean;
  readonly all_grants_present: boolean;
  /** Every violation, in words. */
  readonly reasons: readonly string[];
}

/** A secret with its audience, scopes and expiry. */
interface Credential {
  readonly kind: "bearer";
  readonly value: string;
  readonly audience: string | null;
  readonly scopes: readonly unknown[];
  readonly expires_at: string | null;
}

/** A session; keys are the protocol's. */
export interface Session {
  readonly provider: string;
  readonly subject: {
    readonly principal: string | null;
    readonly issuer: string | null;
    readonly run_as: string | null;
  };
  readonly instance: null;
  readonly trust: { readonly declared_level: TrustLevel; readonly effective_level: TrustLevel };
  readonly delegation_chain: readonly Hop[];
  readonly delegation_validation: DelegationVerdict;
  readonly credentials: { readonly access_token?: Credential };
  readonly provider_assertions: Readonly<Record<string, never>>;
  readonly refresh: { readonly supported: boolean; readonly expires_at: string | null };
  readonly handoff: typeof NO_HANDOFF;
}

/** No provider hands credentials on: a task that requires it is refused. */
export const NO_HANDOFF = { mode: "none", prepared: false } as const;

/** The text that replaces a secret. */
export const REDACTED = "[REDACTED]";

const UNJUDGED: DelegationVerdict = {
  ...{ valid: true, depth: 0, acyclic: true, all_grants_present: true, reasons: [] },
};

/** A session without credentials. */
export function emptySession(provider: string, { subject, trust }: EffectiveIdentity): Session {
  const level = trust.level ?? "supervised";
  return {
    provider,
    subject: { principal: subject.principal, issuer: subject.issuer, run_as: subject.run_as },
    instance: null,
    trust: { declared_level: level, effective_level: level },
    delegation_chain: [],
    delegation_validation: UNJUDGED,
    credentials: {},
    provider_assertions: {},
    refresh: { supported: false, expires_at: null },
    handoff: NO_HANDOFF,
  };
}

/** A session whose bearer token represents its subject and the principals behind it. */
export function bearerSession(
  provider: string,
  identity: EffectiveIdentity,
  value: string,
  chain: readonly Hop[] = [holderOf(identity)],
): Session {
  const { auth } = identity;
  const expiresAt = earliest(chain);
  return {
    ...emptySession(provider, identity),
    delegation_chain: chain,
    credentials: {
      access_token: {
        kind: "bearer",
        value,
        audience: auth.audience,
        scopes: auth.scopes ?? [],
        expires_at: expiresAt,
      },
    },
    refresh: { supported: false, expires_at: expiresAt },
  };
}

function earliest(chain: readonly Hop[]): string | null {
  const [first] = chain.flatMap(({ expires_at: end }) => end ?? []).toSorted();
  return first ?? null;
}

/** The only hop of a token without a known chain. */
function holderOf({ subject }: EffectiveIdentity): Hop {
  return {
    kind: subject.kind ?? "unknown",
    principal: subject.principal,
    grant: "bearer-token",
    validated: true,
    expires_at: null,
  };
}

/** Returns the session without secrets. */
export function describeSession(session: Session): Readonly<Record<string, unknown>> {
  const { access_token: token } = session.credentials;
  return {
    ...session,
    credentials: token === undefined ? {} : { access_token: { ...token, value: REDACTED } },
    credential_summary: {
      credential_types: token === undefined ? [] : ["access_token"],
      expires_at: token?.expires_at ?? null,
    },
  };
}
