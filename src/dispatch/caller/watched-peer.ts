/**
 * A connection whose requests were refused for what a handler never sees: its next bodies are looked at
 * before they are parsed, because what V8 keeps of them, or throws, costs more than the request. Nobody
 * else's are.   AGTP-API §13.2
 */
import { MAX_REPLACED_OCTETS, UndeclaredMembers } from "../../endpoint/undeclared-members.ts";
import type { Exchange } from "../exchange.ts";
import type { Route } from "../routes/route.ts";
import type { Peer } from "./peer.ts";

/** So many requests of a connection are looked at after one was refused. */
const WATCHED_REQUESTS = 64;

/** Tells whether the next body of a connection is judged before it is parsed: one was no JSON. */
export function isDoubted(peer: Peer): boolean {
  if (peer.doubted === undefined) return false;
  peer.doubted = peer.doubted > 1 ? peer.doubted - 1 : undefined;
  return true;
}

/** Marks a connection, whose next bodies are judged first. */
export function doubt(peer: Peer): void {
  peer.doubted = WATCHED_REQUESTS;
}

/**
 * Marks a connection whose request was refused and named a member that the refused one before did not: its
 * next requests are looked at. A mistake that is repeated names nothing new.
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

/** Tells names apart well enough, and keeps no part of a body alive. */
function markOf(name: string): number {
  let mark = name.length;
  const end = Math.min(name.length, MARKED_LENGTH);
  for (let at = 0; at < end; at += 1) mark = (mark * 31 + name.charCodeAt(at)) | 0;
  return mark;
}

/**
 * Undefined: the names of a request are not looked at. Those of its query are not either where its body's
 * stay: a stand-in could be the name of a member.
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
