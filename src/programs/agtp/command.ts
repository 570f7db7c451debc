/**
 * `agtp`: one request, one response; `agtp escalations` and `agtp confirm` are shorthands for two
 * that operators send every day. The exit code is 0 when the server did or accepted the request, 1
 * when it answered otherwise, 2 when there was no answer.
 */
import { FLOOR_METHODS } from "../../catalog/catalog.ts";
import { type Command, command } from "../shell/command.ts";
import { InvalidValue } from "../shell/run-program.ts";
import { EXCHANGE_OPTIONS, exchange } from "./exchange.ts";

const NOTES = `
Examples:
  agtp agtp://localhost                          the server's manifest
  agtp agtp://localhost DISCOVER /methods        its methods
  agtp agtp://localhost QUERY /orders/7 --agent-id 4f…
  agtp agtp://localhost/orders/7 CANCEL -d '{"reason":"late"}'

For operators (--help says more):
  agtp escalations agtp://localhost --cert F --key F      what waits for a decision
  agtp confirm agtp://localhost ID --decision accepted --cert F --key F

Exit codes: 0 for 200, 202, 204, 261 and 263; 1 for any other status; 2 when there was no response.`;

export const agtpProgram: Command = command({
  name: "agtp",
  description: "Sends one AGTP request and prints the response.",
  args: {
    "<uri>": "agtp://HOST[:PORT][/PATH], agtp://HOST/agents/NAME or agtp://AGENT_ID@HOST",
    "[method]": {
      help: "default DISCOVER; DESCRIBE for a URI that names an agent",
      words: FLOOR_METHODS,
    },
    "[path]": { help: 'default: the URI\'s, else "/"; may have a query', words: "endpoints" },
  },
  options: {
    ...EXCHANGE_OPTIONS,
    "-d, --data <json>": "parameters: JSON, @FILE, or - for standard input",
    "--envelope": "send the parameters in the AGTP envelope",
  },
  notes: NOTES,
  programs: [
    { name: "escalations", load: () => escalationsCommand },
    { name: "confirm", load: () => confirmCommand },
  ],
  run: exchange,
});

const STATUSES = ["open", "all", "pending_review", "deferred", "accepted", "rejected", "expired"];
const DECISIONS = ["accepted", "rejected", "deferred"];
const OPERATOR_NOTES = `
An operator is known by --cert and --key; an agent is shown what concerns it.

Exit codes: 0 it was answered; 1 it was refused; 2 when there was no response.`;

const escalationsCommand: Command = command({
  name: "agtp escalations",
  description: "Shows what waits for a decision, or one escalation.",
  args: { "<uri>": "agtp://HOST[:PORT]", "[id]": "of one escalation" },
  options: {
    ...EXCHANGE_OPTIONS,
    "--status <status>": { help: "which ones", choices: STATUSES, default: "open" },
    "--limit <count>": { help: "how many, the newest first; 200 at most", default: "50" },
  },
  notes: OPERATOR_NOTES,
  run: ({ id, status, limit, ...line }, terminal) => {
    const list = `/escalations?${new URLSearchParams({ status, limit })}`;
    const path = id === undefined ? list : `/escalations/${encodeURIComponent(id)}`;
    return exchange(
      { ...line, isOperator: true, method: "QUERY", path, isEscalationList: true },
      terminal,
    );
  },
});

const confirmCommand: Command = command({
  name: "agtp confirm",
  description: "Decides what an escalation waits for.",
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
  notes: OPERATOR_NOTES,
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
