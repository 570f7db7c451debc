/**
 * Answers that a new deployment is made from: what each may be, and what is assumed where there is
 * none. An answer ends up in files and header fields, so that none can be more than it seems.
 */
import { basename } from "node:path";
import { hasLoneSurrogate } from "../../base/json-value.ts";

/** Everything that differs between two new deployments. */
export interface Answers {
  /** The name by which agents and other servers know the server. */
  readonly serverId: string;
  /** The operator's name. */
  readonly operator: string;
  /** The address by which they are reached. */
  readonly contact: string | undefined;
  /** Name of a first agent; undefined for none. */
  readonly agent: string | undefined;
  readonly port: number;
  /** The language of the first handler. */
  readonly handlers: HandlerLanguage;
}

/** Languages that a first handler may be in. */
export const HANDLER_LANGUAGES = ["javascript", "python"] as const;
export type HandlerLanguage = (typeof HANDLER_LANGUAGES)[number];

/** The port of agtp:// without a port. */
export const DEFAULT_PORT = 4480;

/** The agent that is made where nobody says otherwise. */
export const DEFAULT_AGENT = "guide";

const SERVER_ID = /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/;
const AGENT_NAME = /^[A-Za-z0-9_-]{1,64}$/;
/** C0, DEL, C1, what separates lines, and what changes the direction of text. */
const UNPRINTABLE = /[\x00-\x1f\x7f-\x9f\u2028-\u202e\u200e\u200f\u2066-\u2069\ufeff]/;
const MAX_TEXT = 200;
/** As long as a label of a host name. */
const MAX_WORD = 63;

/** The fault of a server id. */
export function findServerIdFault(text: string): string | undefined {
  if (SERVER_ID.test(text)) return undefined;
  return "must be a name such as agents.acme.example, of A-Z a-z 0-9 . -";
}

/** The fault of an operator's name, or of a contact. */
export function findTextFault(text: string): string | undefined {
  if (text.trim() === "") return "must not be empty";
  if (text.length > MAX_TEXT) return `must be at most ${MAX_TEXT} characters long`;
  return UNPRINTABLE.test(text) || hasLoneSurrogate(text)
    ? "must be one line of printable text"
    : undefined;
}

/** The fault of an agent's name, which names its files as well. */
export function findAgentFault(text: string): string | undefined {
  return AGENT_NAME.test(text) ? undefined : "must be 1 to 64 of A-Z a-z 0-9 - _";
}

/** A language by its name; undefined for what is none. */
export function readLanguage(text: string): HandlerLanguage | undefined {
  return HANDLER_LANGUAGES.find((language) => language === text);
}

/** A port to listen on; undefined for what is none. */
export function readPort(text: string): number | undefined {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  return port >= 1 && port <= 65_535 ? port : undefined;
}

/** A server id out of the directory's name, under the domain that is nobody's but this machine's. */
export function assumeServerId(directory: string): string {
  return `${wordOf(basename(directory)) ?? "agents"}.localhost`;
}

/** An operator out of the server id. */
export function assumeOperator(serverId: string): string {
  return `The operator of ${serverId}`.slice(0, MAX_TEXT);
}

/** An Owner-ID out of an operator's name. */
export function ownerIdOf({ operator }: Pick<Answers, "operator">): string {
  return wordOf(operator) ?? "operator";
}

/** A text in the letters that names are made of; undefined when nothing is left of it. */
function wordOf(text: string): string | undefined {
  const word = text
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-/, "")
    .slice(0, MAX_WORD)
    .replace(/-$/, "");
  return word === "" ? undefined : word;
}
