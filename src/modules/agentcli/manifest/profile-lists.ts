/** The lists of profiles that a manifest may have, in the order in which they are checked. */
import type { Fields } from "./field.ts";
import { AUTHORIZATION_PROFILE, EVIDENCE_PROFILE, PROOF_PROFILE } from "./governance-fields.ts";
import { IDENTITY_PROFILE } from "./identity-fields.ts";

/** Fields of an entry, by the name of its list. */
export const PROFILE_LISTS: Readonly<Record<string, Fields>> = {
  identity_profiles: IDENTITY_PROFILE,
  authorization_proof_profiles: PROOF_PROFILE,
  authorization_profiles: AUTHORIZATION_PROFILE,
  evidence_profiles: EVIDENCE_PROFILE,
};
