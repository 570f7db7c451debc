/**
 * Watches connections whose requests were refused for undeclared members or invalid JSON. Their
 * next bodies are scanned before they are parsed, because what V8 retains of such bodies, or
 * throws, costs more than the request. Other connections are not scanned.   AGTP-API §13.2
 */
import { MAX_REPLACED_OCTETS, UndeclaredMembers } from "../../endpoint/undeclared-members.ts";
import type { Exchange } from "../exchange.ts";
import type { Route } from "../routes/route.ts";
import type { Peer } from "./peer.ts";

/** The requests of a connection that are scanned after a refused one. */
const WATCHED_REQUESTS = 64;

/** Tells whether the connection's next body is validated before it is parsed, and counts it. */
export function isDoubted(peer: Peer): boolean {
  if (peer.doubted === undefined) return false;
  peer.doubted = peer.doubted > 1 ? peer.doubted - 1 : undefined;
  return true;
}

/** Marks a connection whose body was not JSON, so that its next bodies are validated first. */
export function doubt(peer: Peer): void {
  peer.doubted = WATCHED_REQUESTS;
}

/**
 * Marks a connection whose request was refused for an undeclared member with a new name, so that
 * its next bodies are scanned. A repeated mistake adds no new names.
 */
export function watchPeer({ inner, peer, input, undeclared }: Exchange, { shape }: Route): void {
  if (inner !== undefined) return;
  const name = undeclared === undefined ? shape.declared?.firstBeyond(input) : undeclared.first;
  if (name === undefined) return;
  const mark = markOf(name);
  if (mark === peer.lastUndeclared) return;
  peer.lastUndeclared = mark;
  peer.watched = WATCHED_REQUESTS;
}

const MARKED_LENGTH = 64;

/** Hashes a name, well enough to tell names apart, so that no part of a body stays alive. */
function markOf(name: string): number {
  let mark = name.length;
  const end = Math.min(name.length, MARKED_LENGTH);
  for (let at = 0; at < end; at += 1) mark = (mark * 31 + name.charCodeAt(at)) | 0;
  return mark;
}

/**
 * Returns the scanner for a request's undeclared members; undefined if it is not scanned. The query
 * is scanned only along with the body, since a stand-in could equal a member's name.
 */
export function undeclaredMembers(
  { inner, peer, request }: Exchange,
  { shape, deepMembers }: Route,
): UndeclaredMembers | undefined {
  if (peer.watched === undefined || inner !== undefined) return undefined;
  peer.watched = peer.watched > 1 ? peer.watched - 1 : undefined;
  if (request.body.length > MAX_REPLACED_OCTETS || deepMembers !== undefined) return undefined;
  return shape.declared && new UndeclaredMembers(shape.declared, request.query !== undefined);
}
