/**
 * A fault that a provider or a verifier finds in a profile that names it, before anything is asked.
 */

/** The field's path within the profile, and why. */
export type ProfileFault = readonly [field: string, message: string];
