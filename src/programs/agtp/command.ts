/**
 * `agtp`: one request, one response. The exit code is 0 when the server did or accepted what it was
 * asked, 1 when it answered otherwise, 2 when there was no answer to be had.
 */
import { type Command, command } from "../shell/command.ts";
import { exchange } from "./exchange.ts";
import { EXCHANGE_OPTIONS } from "./exchange-options.ts";
import { confirmCommand, escalationsCommand } from "./operator-commands.ts";

const NOTES = `
Examples:
  agtp agtp://localhost                          the server's manifest
  agtp agtp://localhost DISCOVER /methods        its methods
  agtp agtp://localhost QUERY /orders/7 --agent-id 4f…
  agtp agtp://localhost/orders/7 CANCEL -d '{"reason":"late"}'

For operators (--help says more):
  agtp escalations agtp://localhost              what waits for a decision
  agtp confirm agtp://localhost ID --decision accepted

Exit codes: 0 for 200, 202, 204, 261 and 263; 1 for any other status; 2 when there was no response.`;

/** The client. */
export const agtpProgram: Command = command({
  name: "agtp",
  description: "Sends one AGTP request and prints the response.",
  args: {
    "<uri>": "agtp://HOST[:PORT][/PATH], agtp://HOST/agents/NAME or agtp://AGENT_ID@HOST",
    "[method]": "default DISCOVER; DESCRIBE for a URI that names an agent",
    "[path]": 'default: the URI\'s, else "/"; may have a query',
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
