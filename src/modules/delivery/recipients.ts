/**
 * Resolves a sender's addresses to recipients: an agent by name, Agent-ID or agtp URI, a group, or a configured
 * webhook. An unknown address gets nothing, and its sender sees that.
 * AGTP "NOTIFY" recipient, AGTP "URI Scheme"
 */
import { splitUri } from "../../client/uri.ts";
import type { AgentDirectory } from "../../identity/agent-directory.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import { isAgentId } from "../../identity/identifiers.ts";
import type { IsOwnAddress } from "../../identity/own-address.ts";
import type { Recipient } from "./notification.ts";

export interface AddressBook {
  readonly directory: Pick<AgentDirectory, "find" | "findByName" | "resolve">;
  isRetired(agent: AgentDocument): boolean;
  /** True if a sender may list agents. */
  isDisclosedTo(sender: string): boolean;
  /** URLs by name. */
  readonly webhooks: Readonly<Record<string, string>>;
  /** Members by group name: agents and `webhook:NAME`. */
  readonly groups: Readonly<Record<string, readonly string[]>>;
  readonly isOwnAddress: IsOwnAddress;
}

/** Tells whether an agent is visible to the sender. */
type IsShown = (agent: AgentDocument) => boolean;

/**
 * Resolves addresses, without duplicates and in their order. A hidden agent is reached by its Agent-ID, or in a group
 * under the group's name; without a sender, nothing is hidden from the caller, which is the operator.
 */
export function resolveRecipients(
  addresses: readonly string[],
  book: AddressBook,
  sender?: string,
): readonly Recipient[] {
  const isDisclosed = sender === undefined || book.isDisclosedTo(sender);
  const isShown: IsShown = ({ agentId }) => isDisclosed || agentId === sender;
  const recipients = new Map<string, Recipient>();
  for (const address of addresses) {
    for (const recipient of resolveAddress(address, book, isShown)) {
      // A retired agent has an Agent-ID, too.
      const key = ("agentId" in recipient ? recipient.agentId : undefined) ?? recipient.name;
      if (!recipients.has(key)) recipients.set(key, recipient);
    }
  }
  return [...recipients.values()];
}

function resolveAddress(
  address: string,
  book: AddressBook,
  isShown: IsShown,
): readonly Recipient[] {
  const group = /^group:(.*)$/.exec(address)?.[1];
  if (group === undefined) return [resolveOne(address, book, isShown)];
  if (!Object.hasOwn(book.groups, group)) return [unknown(address)];
  return (book.groups[group] ?? []).map((member) => resolveOne(member, book, isShown, address));
}

/** True for a member of a group that is hidden from the sender. */
export function isUnnamed({ name }: Pick<Recipient, "name">): boolean {
  return name.startsWith("group:");
}

function resolveOne(
  address: string,
  book: AddressBook,
  isShown: IsShown,
  group?: string,
): Recipient {
  const webhook = /^webhook:(.*)$/.exec(address)?.[1];
  if (webhook !== undefined) {
    const url = Object.hasOwn(book.webhooks, webhook) ? book.webhooks[webhook] : undefined;
    return url === undefined ? unknown(address) : { kind: "webhook", name: address, url };
  }
  const agent = findAgent(address, book);
  if (agent === undefined) return unknown(address);
  const { agentId } = agent;
  const isHidden = !isShown(agent);
  if (isHidden && group !== undefined) {
    return book.isRetired(agent)
      ? { kind: "nobody", name: group, reason: "agent-retired" }
      : { kind: "agent", name: group, agentId };
  }
  // A name could be guessed, so it does not reach a hidden agent.
  if (isHidden && !address.includes(agentId)) return unknown(address);
  const name = isHidden ? address : agent.name;
  return book.isRetired(agent)
    ? { kind: "nobody", name: address, reason: "agent-retired", agentId }
    : { kind: "agent", name, agentId };
}

function unknown(name: string): Recipient {
  return { kind: "nobody", name, reason: "recipient-not-found" };
}

const AGENT_PATH = /^\/agents\/([A-Za-z0-9_-]+)$/;

/**
 * Finds an agent: an Agent-ID is valid with any host (Forms 1 and 1a), a name (Forms 3 and 4) only with this server's.
 */
function findAgent(
  address: string,
  { directory, isOwnAddress }: AddressBook,
): AgentDocument | undefined {
  if (!/^agtp:/i.test(address)) return directory.resolve(address);
  const parts = splitUri(address);
  if (parts === undefined || parts.query !== undefined) return undefined;
  const { userinfo, host, port, path } = parts;
  const agentId = userinfo ?? host;
  if (isAgentId(agentId)) return path === "" || path === "/" ? directory.find(agentId) : undefined;
  if (userinfo !== undefined || !isOwnAddress(host, port)) return undefined;
  const name = AGENT_PATH.exec(path)?.[1];
  if (name === undefined) return undefined;
  return directory.findByName(name) ?? directory.find(name);
}
