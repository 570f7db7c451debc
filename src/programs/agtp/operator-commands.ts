/**
 * Two requests that operators send every day, in short: `agtp escalations URI [ID]` and
 * `agtp confirm URI ID`.   AGTP "ESCALATE", "CONFIRM"
 */
import { type Command, command } from "../shell/command.ts";
import { InvalidValue } from "../shell/run-program.ts";
import { exchange } from "./exchange.ts";
import { EXCHANGE_OPTIONS } from "./exchange-options.ts";

const STATUSES = ["open", "all", "pending_review", "deferred", "accepted", "rejected", "expired"];
const DECISIONS = ["accepted", "rejected", "deferred"];
const NOTES = `
Exit codes: 0 it was answered; 1 it was refused; 2 when there was no response.`;

/** `agtp escalations` */
export const escalationsCommand: Command = command({
  name: "agtp escalations",
  description: "Shows what waits for a decision, or one escalation.",
  args: { "<uri>": "agtp://HOST[:PORT]", "[id]": "of one escalation" },
  options: {
    ...EXCHANGE_OPTIONS,
    "--status <status>": { help: "which ones", choices: STATUSES, default: "open" },
    "--limit <count>": { help: "how many at most, the newest first", default: "50" },
  },
  notes: NOTES,
  run: ({ id, status, limit, ...line }, terminal) => {
    const list = `/escalations?${new URLSearchParams({ status, limit })}`;
    const path = id === undefined ? list : `/escalations/${encodeURIComponent(id)}`;
    return exchange(
      { ...line, isOperator: true, method: "QUERY", path, isEscalationList: true },
      terminal,
    );
  },
});

/** `agtp confirm` */
export const confirmCommand: Command = command({
  name: "agtp confirm",
  description: "Says the word that an escalation waits for.",
  args: {
    "<uri>": "agtp://HOST[:PORT]",
    "<id>": "of the escalation, or whatever else can be confirmed",
  },
  options: {
    ...EXCHANGE_OPTIONS,
    "--decision <word>": { help: "what is decided", choices: DECISIONS, isRequired: true },
    "--note <text>": "why",
    "--content <json>": { help: "the answer to what an upstream asks", parse: readJson },
    "--resume-value <json>": { help: "what an agent that asks is to go on with", parse: readJson },
  },
  notes: NOTES,
  run: ({ id, decision, note, content, resumeValue, ...line }, terminal) => {
    const answer = { content, resume_value: resumeValue };
    const said = { target_id: id, status: decision, reason: note, ...answer };
    const data = JSON.stringify(said);
    return exchange({ ...line, isOperator: true, method: "CONFIRM", path: "/", data }, terminal);
  },
});

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidValue("It must be JSON.");
  }
}
