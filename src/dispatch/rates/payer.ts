/**
 * Names the account that pays for a request. An agent that is proven pays for itself, wherever it
 * is. One that is only claimed pays together with where it is claimed from, so that nobody elsewhere
 * can use up what is another's. All others pay as the address that they come from, IPv6 by its /64.
 * `[limits] work_ms_per_second`
 */
import { isIPv4 } from "node:net";
import type { TaskOwner } from "../../base/task-queue.ts";
import type { Caller } from "../caller/caller.ts";
import type { Peer } from "../caller/peer.ts";

/** Those whom nobody vouches for have one share together of the questions that wait for operators. */
export const STRANGERS = "strangers";

/** Whose account a request is on. */
export function payerOf(request: {
  readonly caller: Caller;
  readonly peer: Pick<Peer, "address" | "speaksAs" | "paid">;
}): TaskOwner {
  const { caller, peer } = request;
  // The caller of a connection is mostly the one before: its key is put together and hashed once (-5 %).
  if (peer.paid?.caller === caller) return peer.paid.owner;
  const key = accountOf(request);
  const owner = key === undefined ? networkOwner(peer.address) : { key, isKnown: true };
  peer.paid = { caller, owner };
  return owner;
}

/** The account of callers from an address who say no more about themselves. */
export function networkOwner(address: string): TaskOwner {
  return { key: networkOf(address), isKnown: false };
}

/** The account of an API's client: the principal that its token names, else its address. */
export function spokenFor(principalId: string | undefined, address: string): TaskOwner {
  const key = accountOfPrincipal(principalId);
  return key === undefined ? networkOwner(address) : { key, isKnown: true };
}

function accountOfPrincipal(principalId: string | undefined): string | undefined {
  return principalId === undefined ? undefined : `for ${principalId}`;
}

/** Undefined for a stranger: an Agent-ID that nobody knows can be another one each time. */
function accountOf({ caller, peer }: Parameters<typeof payerOf>[0]): string | undefined {
  const { agentId = "", principalId, delegation } = caller;
  // The agent of the HTTP sidecar is everybody's who reaches the port.
  if (peer.speaksAs !== undefined) return accountOfPrincipal(principalId);
  if (principalId !== undefined) return `${agentId} for ${principalId}`;
  // A peer vouches for as many agents as it likes.
  const voucher = delegation?.isArriving === true ? delegation.links.at(-1) : undefined;
  if (voucher !== undefined) return `of ${voucher.serverId}`;
  // The server's own requests have no address.
  if (caller.isCertified || (agentId !== "" && peer.address === "")) return agentId;
  return caller.document === undefined ? undefined : `${agentId} at ${networkOf(peer.address)}`;
}

const GROUPS = 8;
const NETWORK_GROUPS = 4;

/** The network that one host chooses its addresses from: an IPv4 address, or an IPv6 /64. */
export function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const mapped = address.slice(address.lastIndexOf(":") + 1);
  if (isIPv4(mapped) && address.toLowerCase().startsWith("::ffff:")) return mapped;
  const [left = "", right] = address.split("::", 2);
  const head = groupsOf(left);
  const tail = right === undefined ? [] : groupsOf(right);
  const zeros = Math.max(0, GROUPS - head.length - tail.length);
  const groups = [...head, ...new Array<string>(zeros).fill("0"), ...tail];
  return `${groups.slice(0, NETWORK_GROUPS).join(":")}::/64`;
}

/** An IPv4 address at the end stands for two groups. */
function groupsOf(text: string): readonly string[] {
  if (text === "") return [];
  return text.split(":").flatMap((group) => (isIPv4(group) ? ["v4", "v4"] : group.toLowerCase()));
}
