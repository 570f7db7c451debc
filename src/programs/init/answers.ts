/**
 * The answers that a new deployment is made from, and their rules. They come from flags, from a
 * person at a terminal, or from defaults. An answer is written to files and header fields, so its
 * characters are restricted. A wrong flag ends the command, a wrong answer is asked again, and if
 * input ends nothing is made.
 */
import { basename } from "node:path";
import { hasLoneSurrogate, quoteValue } from "../../base/json-value.ts";
import { AGTP_PORT } from "../../client/uri.ts";
import { usage } from "../shell/command.ts";
import { defuseLine, type Output } from "../shell/terminal.ts";

/** The values that differ between new deployments. */
export interface Answers {
  /** The name under which agents and other servers know the server. */
  readonly serverId: string;
  readonly operator: string;
  readonly contact: string | undefined;
  /** The name of a first agent; undefined for none. */
  readonly agent: string | undefined;
  readonly port: number;
  readonly handlers: HandlerLanguage;
}

export const HANDLER_LANGUAGES = ["javascript", "python"] as const;
export type HandlerLanguage = (typeof HANDLER_LANGUAGES)[number];

/** The default name of the first agent. */
export const DEFAULT_AGENT = "guide";

const SERVER_ID = /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/;
const AGENT_NAME = /^[A-Za-z0-9_-]{1,64}$/;
/** C0, DEL, C1, line separators, and characters that change the direction of text. */
const UNPRINTABLE = /[\x00-\x1f\x7f-\x9f\u2028-\u202e\u200e\u200f\u2066-\u2069\ufeff]/;
const MAX_TEXT = 200;
/** The maximum length of a host name's label. */
const MAX_WORD = 63;

/** Returns the fault of a server id. */
export function findServerIdFault(text: string): string | undefined {
  if (SERVER_ID.test(text)) return undefined;
  return "must be a name such as agents.acme.example, of A-Z a-z 0-9 . -";
}

/** Returns the fault of an operator's name, or of a contact. */
export function findTextFault(text: string): string | undefined {
  if (text.trim() === "") return "must not be empty";
  if (text.length > MAX_TEXT) return `must be at most ${MAX_TEXT} characters long`;
  return UNPRINTABLE.test(text) || hasLoneSurrogate(text)
    ? "must be one line of printable text"
    : undefined;
}

/** Returns the fault of an agent's name, which is also used in file names. */
export function findAgentFault(text: string): string | undefined {
  return AGENT_NAME.test(text) ? undefined : "must be 1 to 64 of A-Z a-z 0-9 - _";
}

/** Reads a port to listen on; undefined if it is invalid. */
export function readPort(text: string): number | undefined {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  return port >= 1 && port <= 65_535 ? port : undefined;
}

/** Derives a server id from the directory's name, under a domain that is reserved for local use. */
export function assumeServerId(directory: string): string {
  return `${wordOf(basename(directory)) ?? "agents"}.localhost`;
}

/** Derives an operator from the server id. */
export function assumeOperator(serverId: string): string {
  return `The operator of ${serverId}`.slice(0, MAX_TEXT);
}

/** Derives an Owner-ID from an operator's name. */
export function ownerIdOf({ operator }: Pick<Answers, "operator">): string {
  return wordOf(operator) ?? "operator";
}

/** Latin letters that do not decompose into a base letter and a mark. */
const LETTERS: ReadonlyMap<string, string> = new Map([
  ...([
    ["ß", "ss"],
    ["æ", "ae"],
    ["œ", "oe"],
    ["ø", "o"],
    ["þ", "th"],
    ["ŋ", "ng"],
  ] as const),
  ...([
    ["ð", "d"],
    ["đ", "d"],
    ["ħ", "h"],
    ["ı", "i"],
    ["ĸ", "k"],
    ["ł", "l"],
    ["ŧ", "t"],
  ] as const),
]);

/** Converts a text to the characters of names; undefined if none remain. */
function wordOf(text: string): string | undefined {
  const word = text
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9]/gu, (letter) => LETTERS.get(letter) ?? "-")
    .replace(/-+/g, "-")
    .replace(/^-/, "")
    .slice(0, MAX_WORD)
    .replace(/-$/, "");
  return word === "" ? undefined : word;
}

/** Asks a person a question; resolves to undefined once the input has ended. */
export type Ask = (question: string) => Promise<string | undefined>;

/** Answers that the command line gives. */
export interface GivenAnswers {
  readonly serverId?: string;
  readonly operator?: string;
  readonly contact?: string;
  /** False if no agent is wanted. */
  readonly agent?: string | false;
  readonly port?: string;
  readonly handlers?: string;
}

/** A conversation, which the caller closes. */
export interface Questions {
  readonly ask: Ask;
  close(): void;
}

interface Interviewee {
  /** Undefined if nobody is there, or nobody may be asked. */
  readonly ask: Ask | undefined;
  readonly err: Output;
}

interface Question {
  readonly flag: string;
  readonly text: string;
  readonly assumed: string;
  findFault(answer: string): string | undefined;
}

const MAX_ATTEMPTS = 5;
const NO_AGENT = "-";

/** Collects the answers; throws ERR_AGTP_REQUEST if one cannot be obtained. */
export async function interview(
  line: GivenAnswers,
  directory: string,
  interviewee: Interviewee,
): Promise<Answers> {
  const port = line.port === undefined ? AGTP_PORT : readPort(line.port);
  if (port === undefined) throw wrongFlag("--port", "must be a number from 1 to 65535", line.port);
  const handlers = HANDLER_LANGUAGES.find((one) => one === (line.handlers ?? "javascript"));
  if (handlers === undefined) {
    const expected = `must be one of ${HANDLER_LANGUAGES.join(", ")}`;
    throw wrongFlag("--handlers", expected, line.handlers);
  }
  const contact = line.contact && checked("--contact", line.contact, findTextFault);
  const settle = (written: string | undefined, question: Question): Promise<string> =>
    written === undefined
      ? answer(question, interviewee)
      : Promise.resolve(checked(question.flag, written, question.findFault));

  // Wrong flags are reported before any question.
  if (line.operator !== undefined) checked("--operator", line.operator, findTextFault);
  if (typeof line.agent === "string") checked("--agent", line.agent, findAgentFault);
  const serverId = await settle(line.serverId, {
    flag: "--server-id",
    text: "How agents know the server",
    assumed: assumeServerId(directory),
    findFault: findServerIdFault,
  });
  const operator = await settle(line.operator, {
    flag: "--operator",
    text: "Who runs it",
    assumed: assumeOperator(serverId),
    findFault: findTextFault,
  });
  const agent = await settle(line.agent === false ? NO_AGENT : line.agent, {
    flag: "--agent",
    text: `Name of a first agent, ${NO_AGENT} for none`,
    assumed: DEFAULT_AGENT,
    findFault: (text) => (text === NO_AGENT ? undefined : findAgentFault(text)),
  });
  return {
    serverId,
    operator: operator.trim(),
    contact: contact?.trim(),
    agent: agent === NO_AGENT ? undefined : agent,
    port,
    handlers,
  };
}

async function answer(question: Question, { ask, err }: Interviewee): Promise<string> {
  const { flag, text, assumed, findFault } = question;
  if (ask === undefined) {
    err.write(`agtpd init: ${text.toLowerCase()}: ${assumed} (${flag} says otherwise)\n`);
    return assumed;
  }
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const said = (await ask(`${text} [${assumed}]: `))?.trim();
    if (said === undefined) throw usage("no answer, so nothing was made");
    const fault = said === "" ? undefined : findFault(said);
    if (fault === undefined) return said === "" ? assumed : said;
    err.write(`${defuseLine(quoteValue(said))} ${fault}\n`);
  }
  throw usage(`no usable answer, so nothing was made; ${flag} takes one as well`);
}

function checked(
  flag: string,
  text: string,
  findFault: (text: string) => string | undefined,
): string {
  const fault = findFault(text);
  if (fault === undefined) return text;
  throw wrongFlag(flag, fault, text);
}

function wrongFlag(flag: string, fault: string, text: string | undefined): Error {
  return usage(`${flag} ${fault}, got ${quoteValue(text)}`);
}
