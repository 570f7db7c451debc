/**
 * From what a sender writes to whom it means: an agent by name, Agent-ID or agtp URI, a group, a
 * webhook of the configuration. Whoever is not known here gets nothing, and the sender is told.
 * AGTP "NOTIFY" recipient, AGTP "URI Scheme"
 */
import { splitUri } from "../../client/uri.ts";
import type { AgentDirectory } from "../../identity/agent-directory.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import { isAgentId } from "../../identity/identifiers.ts";
import type { IsOwnAddress } from "../../identity/own-address.ts";
import type { Recipient } from "./notification.ts";

/** Everybody there is. */
export interface AddressBook {
  readonly directory: Pick<AgentDirectory, "find" | "findByName" | "resolve">;
  isRetired(agent: AgentDocument): boolean;
  /** URL by name. */
  readonly webhooks: Readonly<Record<string, string>>;
  /** Agents and `webhook:NAME`, by the group's name. */
  readonly groups: Readonly<Record<string, readonly string[]>>;
  readonly isOwnAddress: IsOwnAddress;
}

/** The recipients of the addresses, each of them once, in the order written. */
export function resolveRecipients(
  addresses: readonly string[],
  book: AddressBook,
): readonly Recipient[] {
  const recipients = new Map<string, Recipient>();
  for (const address of addresses) {
    for (const recipient of resolveAddress(address, book)) {
      // An agent that is retired has an id, too.
      const key = ("agentId" in recipient ? recipient.agentId : undefined) ?? recipient.name;
      if (!recipients.has(key)) recipients.set(key, recipient);
    }
  }
  return [...recipients.values()];
}

function resolveAddress(address: string, book: AddressBook): readonly Recipient[] {
  const group = /^group:(.*)$/.exec(address)?.[1];
  if (group === undefined) return [resolveOne(address, book)];
  if (!Object.hasOwn(book.groups, group)) return [unknown(address)];
  return (book.groups[group] ?? []).map((member) => resolveOne(member, book));
}

function resolveOne(address: string, book: AddressBook): Recipient {
  const webhook = /^webhook:(.*)$/.exec(address)?.[1];
  if (webhook !== undefined) {
    const url = Object.hasOwn(book.webhooks, webhook) ? book.webhooks[webhook] : undefined;
    return url === undefined ? unknown(address) : { kind: "webhook", name: address, url };
  }
  const agent = findAgent(address, book);
  if (agent === undefined) return unknown(address);
  const { name, agentId } = agent;
  return book.isRetired(agent)
    ? { kind: "nobody", name: address, reason: "agent-retired", agentId }
    : { kind: "agent", name, agentId };
}

function unknown(name: string): Recipient {
  return { kind: "nobody", name, reason: "recipient-not-found" };
}

const AGENT_PATH = /^\/agents\/([A-Za-z0-9_-]+)$/;

/**
 * An Agent-ID means the same agent wherever it is asked for (Forms 1 and 1a); a name (Forms 3 and 4)
 * only that of this server.
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
