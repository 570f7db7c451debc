/**
 * The chain of the server itself: what operators change that is about no agent.   docs/attribution.md
 */
import { sha256Hex } from "../../identity/canonical-form.ts";

/** The name that its records have where those of others have an Agent-ID. */
export function serverChainId(serverId: string): string {
  return sha256Hex(`agtp://${serverId}`);
}
