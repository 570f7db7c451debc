/**
 * Connections that have sent a body that is no JSON: so many more of their bodies are judged before they
 * are parsed, because a throw costs more than the request. Nobody else's body is gone through twice.
 */
import type { Peer } from "./peer.ts";

const DOUBTED_BODIES = 64;

/** Tells whether the next body of a connection is judged first. */
export function isDoubted(peer: Peer): boolean {
  if (peer.doubted === undefined) return false;
  peer.doubted = peer.doubted > 1 ? peer.doubted - 1 : undefined;
  return true;
}

/** Has the next bodies of a connection judged first. */
export function doubt(peer: Peer): void {
  peer.doubted = DOUBTED_BODIES;
}
