/**
 * Answers that a new deployment is made from: what each may be, and how they are come by: from flags,
 * from a person at a terminal, or by assuming. An answer ends up in files and header fields, so that none
 * can be more than it seems. A wrong flag ends it, a wrong answer is asked again, and when nobody answers
 * any more nothing is made.
 */
import { basename } from "node:path";
import { hasLoneSurrogate, quoteValue } from "../../base/json-value.ts";
import { AGTP_PORT } from "../../client/uri.ts";
import { usage } from "../shell/command.ts";
import { defuseLine, type Output } from "../shell/terminal.ts";

/** Everything that differs between two new deployments. */
export interface Answers {
  /** The name by which agents and other servers know the server. */
  readonly serverId: string;
  readonly operator: string;
  readonly contact: string | undefined;
  /** Name of a first agent; undefined for none. */
  readonly agent: string | undefined;
  readonly port: number;
  readonly handlers: HandlerLanguage;
}

export const HANDLER_LANGUAGES = ["javascript", "python"] as const;
export type HandlerLanguage = (typeof HANDLER_LANGUAGES)[number];

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

/** Latin letters that no mark can be taken off. */
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

/** A text in the letters that names are made of; undefined when nothing is left of it. */
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

/** Puts a question to a person; undefined when there will be no answer any more. */
export type Ask = (question: string) => Promise<string | undefined>;

/** Answers that the command line gives. */
export interface GivenAnswers {
  readonly serverId?: string;
  readonly operator?: string;
  readonly contact?: string;
  /** False: none is wanted. */
  readonly agent?: string | false;
  readonly port?: string;
  readonly handlers?: string;
}

/** A conversation, to be closed when it is over. */
export interface Questions {
  readonly ask: Ask;
  close(): void;
}

interface Interviewee {
  /** Undefined: nobody is there, or nobody is to be asked. */
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

/** The answers; throws ERR_AGTP_REQUEST where there is no way to come by one. */
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

  // A wrong flag is reported before anybody is asked.
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
