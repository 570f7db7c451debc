/**
 * What operators do every day, in short: `agtp escalations URI [ID]` and `agtp confirm URI ID`. Each
 * is one request as any other, written for them.   AGTP "ESCALATE", "CONFIRM"
 */
import { InvalidArgumentError, Option } from "commander";
import { type CommandLineEnd, createProgram, readArguments } from "../shell/arguments.ts";
import type { Terminal } from "../shell/terminal.ts";
import { type CommandLine, withExchangeOptions } from "./command-line.ts";

const STATUSES = ["open", "all", "pending_review", "deferred", "accepted", "rejected", "expired"];
const DECISIONS = ["accepted", "rejected", "deferred"];
const EXIT_CODES = `
Exit codes: 0 it was answered; 1 it was refused; 2 when there was no response.`;
/** What the flags of a command do not say. */
type Identity = Omit<CommandLine, "kind" | "uri" | "method" | "path" | "data">;

/** Reads the arguments of one of these commands; undefined: they are not of one. */
export function parseOperatorLine(
  args: readonly string[],
  terminal: Terminal,
): CommandLine | CommandLineEnd | undefined {
  const [name, ...rest] = args;
  if (name === "escalations") return parseEscalations(rest, terminal);
  return name === "confirm" ? parseConfirm(rest, terminal) : undefined;
}

function parseEscalations(
  args: readonly string[],
  terminal: Terminal,
): CommandLine | CommandLineEnd {
  const command = withExchangeOptions(createProgram("agtp escalations", terminal))
    .description("Shows what waits for a decision, or one escalation.")
    .argument("<uri>", "agtp://HOST[:PORT]")
    .argument("[id]", "of one escalation")
    .addOption(new Option("--status <status>", "which ones").choices(STATUSES).default("open"))
    .option("--limit <count>", "how many at most, the newest first", "50")
    .addHelpText("after", EXIT_CODES);
  const end = readArguments(command, args);
  if (end !== undefined) return end;
  const [uri = "", id] = command.args;
  const { status, limit, ...identity } = command.opts<
    Identity & Record<"status" | "limit", string>
  >();
  const query = new URLSearchParams({ status, limit });
  const path =
    id === undefined ? `/escalations?${query}` : `/escalations/${encodeURIComponent(id)}`;
  return { ...identity, kind: "command-line", uri, method: "QUERY", path, isEscalationList: true };
}

function parseConfirm(args: readonly string[], terminal: Terminal): CommandLine | CommandLineEnd {
  const command = withExchangeOptions(createProgram("agtp confirm", terminal))
    .description("Says the word that an escalation waits for.")
    .argument("<uri>", "agtp://HOST[:PORT]")
    .argument("<id>", "of the escalation, or whatever else can be confirmed")
    .addOption(
      new Option("--decision <word>", "what is decided").choices(DECISIONS).makeOptionMandatory(),
    )
    .option("--note <text>", "why")
    .option("--resume-value <json>", "what an agent that asks is to go on with", readJson)
    .addHelpText("after", EXIT_CODES);
  const end = readArguments(command, args);
  if (end !== undefined) return end;
  const [uri = "", id] = command.args;
  const { decision, note, resumeValue, ...identity } = command.opts<Identity & Confirm>();
  const said = { target_id: id, status: decision, reason: note, resume_value: resumeValue };
  const data = JSON.stringify(said);
  return { ...identity, kind: "command-line", uri, method: "CONFIRM", path: "/", data };
}

interface Confirm {
  readonly decision: string;
  readonly note?: string;
  /** A JSON value. */
  readonly resumeValue?: unknown;
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidArgumentError("It must be JSON.");
  }
}
