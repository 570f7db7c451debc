/** The input of verifiers of authorization proofs beside the proof. */
import type { World } from "../world.ts";

/** The rules that a proof is judged by. */
export interface ProofContext {
  readonly world: Pick<World, "keySets" | "directory">;
  /** `sha256:…` of the manifest that the proof must be bound to. */
  readonly manifestDigest: string;
}
