/** The handlers of the endpoints of a deployment under test. */
import { spawnSync } from "node:child_process";
import { ORDER_RESULT } from "./order.ts";

/** A function in the daemon, the same in a separate process, in Python, or the URL of an HTTPS API. */
export type BenchHandler = "function" | "process" | "python" | { readonly url: string };

/** The configuration of the process, if the handler has one. */
export function processConfig(handler: BenchHandler): string {
  const commands = { process: [process.execPath, "orders-process.mjs"], python: PYTHON_COMMAND };
  if (handler !== "process" && handler !== "python") return "";
  return `[[processes]]\nname = "orders"\ncommand = ${JSON.stringify(commands[handler])}\n`;
}

const PYTHON_COMMAND = ["python3", "orders.py"];

/** Returns true if Python is available. */
export function hasPython(): boolean {
  return spawnSync("python3", ["--version"]).status === 0;
}

/** The handler table of an endpoint; `cert` is the certificate of the benchmark's HTTPS API. */
export function handlerTable(handler: BenchHandler, cert: string): string {
  if (handler === "function") return `type = "registered_function"\nfunction = "orders.place"`;
  if (handler === "process" || handler === "python")
    return `type = "registered_function"\nfunction = "orders:place"`;
  return `type = "external_service"\nmethod = "POST"\nurl = "${handler.url}"\nca = ${JSON.stringify(cert)}`;
}

const UPSTREAM_ERRORS = [
  ...["upstream_timeout", "upstream_connection_error", "upstream_malformed_response"],
  ...["upstream_authentication_failed", "upstream_error"],
];

/** The errors that an endpoint of this handler declares. */
export function errorsOf(handler: string): string {
  return JSON.stringify(handler.includes("external_service") ? UPSTREAM_ERRORS : []);
}

/** The same function in a process. */
export const PROCESS: string = `import { createInterface } from "node:readline";
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
send({ method: "hello", params: { protocol: 1, functions: ["place"] } });
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (method === "call") send({ id, result: { body: ${JSON.stringify(ORDER_RESULT)} } });
});
`;

/** The same function in Python, with the library that `agtpd init --handlers python` installs. */
export const PYTHON: string = `import json
from agtp_handlers import handler, run

RESULT = json.loads(${JSON.stringify(JSON.stringify(ORDER_RESULT))})

@handler
def place(call):
    return RESULT

run()
`;
