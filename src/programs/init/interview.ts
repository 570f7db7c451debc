/**
 * Comes by the answers: from flags, from a person at a terminal, or by assuming. A wrong flag ends
 * it, a wrong answer is asked again, and when nobody answers any more nothing is made.
 */

import { quoteValue } from "../../base/json-value.ts";
import { usage } from "../shell/command-file.ts";
import { defuseLine, type Output } from "../shell/terminal.ts";
import {
  type Answers,
  assumeOperator,
  assumeServerId,
  DEFAULT_AGENT,
  DEFAULT_PORT,
  findAgentFault,
  findServerIdFault,
  findTextFault,
  HANDLER_LANGUAGES,
  readLanguage,
  readPort,
} from "./answers.ts";

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

/** The person to be asked and told. */
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
  const port = line.port === undefined ? DEFAULT_PORT : readPort(line.port);
  if (port === undefined) throw wrongFlag("--port", "must be a number from 1 to 65535", line.port);
  const handlers = readLanguage(line.handlers ?? "javascript");
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
  if (line.agent) checked("--agent", line.agent, findAgentFault);
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
