/**
 * The demands of an identity that its provider cannot meet: a mode of acting, or a way to hand
 * credentials on. Said when a manifest is validated, and once more when it is used.
 * agentcli execution identity "Identity providers"
 */
import type { IdentityCapabilities } from "./providers.ts";

/** The parts of an identity that are judged. */
interface AskedOfProvider {
  readonly auth: { readonly mode: string | null };
  readonly presentation: { readonly handoff: string | null };
}

/** Something that a provider cannot do. */
interface Unable {
  /** The field of the identity. */
  readonly field: "auth.mode" | "presentation.handoff";
  readonly message: string;
}

/** Everything that cannot be had; "none" asks for nothing. */
export function findUnable(
  { auth: { mode }, presentation: { handoff } }: AskedOfProvider,
  limits: Pick<IdentityCapabilities, "auth_modes" | "handoff_modes">,
): readonly Unable[] {
  const { auth_modes: modes, handoff_modes: handoffs } = limits;
  const asked = [
    ["auth.mode", mode, modes],
    ["presentation.handoff", handoff, handoffs],
  ] as const;
  return asked.flatMap(([field, word, known]) =>
    isAsked(word) && !known.includes(word) ? [{ field, message: cannot(word, known) }] : [],
  );
}

function isAsked(word: string | null): word is string {
  return word !== null && word !== "none";
}

function cannot(word: string, known: readonly string[]): string {
  return `cannot do "${word}", only: ${known.join(", ")}`;
}
