/** A credential session: what an identity provider came up with, and its view without secrets. */

import type { EffectiveIdentity } from "../compile/merge.ts";
import type { TrustLevel } from "../manifest/fields.ts";

/** One who stands behind the subject. */
export interface Hop {
  readonly kind: string;
  readonly principal: string | null;
  readonly grant: string | null;
  readonly validated: boolean;
  /** When its grant ends; null: never, or nobody said. */
  readonly expires_at: string | null;
}

/** The verdict on a chain of delegation. */
export interface DelegationVerdict {
  readonly valid: boolean;
  readonly depth: number;
  readonly acyclic: boolean;
  readonly all_grants_present: boolean;
  /** In words, each thing that is wrong with the chain. */
  readonly reasons: readonly string[];
}

/** A secret, with what it is good for. */
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

/** Credentials are handed on to nobody: a task that wants that is refused. */
export const NO_HANDOFF = { mode: "none", prepared: false } as const;

/** The text that stands where a secret was. */
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

/** A session whose bearer token stands for its subject, and for whoever is behind it. */
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

/** A token of which nothing is known but who has it. */
function holderOf({ subject }: EffectiveIdentity): Hop {
  return {
    kind: subject.kind ?? "unknown",
    principal: subject.principal,
    grant: "bearer-token",
    validated: true,
    expires_at: null,
  };
}

/** A session as it may be shown. */
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
