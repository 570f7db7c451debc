/**
 * The three-stage merge of identity: profile, workflow, task, the narrower one winning key by key.
 * Lists and attributes are replaced whole, provider settings are merged one level deep.
 * agentcli execution identity "Merge"
 */
import {
  type Auth,
  FLAT_IDENTITY,
  type Identity,
  type IdentityParts,
  type IdentityProfile,
  isStructuredIdentity,
  type Presentation,
  STRUCTURED_IDENTITY,
  type Subject,
  type Trust,
} from "../manifest/identity-fields.ts";
import { type Filled, mergeBlock, mergeMaps } from "./pick.ts";

/** Identity as 0.1 has it, merged. */
export type FlatIdentity = Filled<Pick<Identity, "principal" | "run_as" | "attestation">>;

/** Every leaf is there; null is what nobody said. */
interface MergedParts {
  readonly subject: Filled<Subject>;
  readonly auth: Filled<Auth>;
  readonly trust: Filled<Trust>;
  readonly presentation: Filled<Presentation>;
}

/** Identity as 0.2 has it, of workflow and task. */
export interface DeclaredIdentity extends MergedParts {
  readonly ref: string | null;
  readonly scope: string | null;
}

/** A merged identity with its profile: what a provider works with. */
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
  if (!isStructuredIdentity(broad) && !isStructuredIdentity(narrow)) {
    return mergeBlock<FlatIdentity>(FLAT_IDENTITY, narrow, broad);
  }
  return mergeStructured(narrow, broad);
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
  const { ref: _, scope: __, ...parts } = mergeStructured(declared, base);
  return {
    ref: declared.ref ?? profile?.id ?? null,
    provider: profile?.provider ?? null,
    ...parts,
  };
}

/** Bindings stand first in a merged presentation, and are checked last. */
function mergeStructured(narrow: Identity, broad: Identity): DeclaredIdentity {
  const merged = mergeBlock<DeclaredIdentity>(STRUCTURED_IDENTITY, narrow, broad);
  const { bindings, ...presentation } = merged.presentation;
  return { ...merged, presentation: { bindings, ...presentation } };
}
