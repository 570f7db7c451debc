/** The handlers of the endpoints of a deployment under test. */
import { ORDER_RESULT } from "./order.ts";

/** A function in the daemon, the same one in a process of its own, or the URL of an HTTPS API. */
export type BenchHandler = "function" | "process" | { readonly url: string };

/** The configuration of the process. */
export function processConfig(): string {
  const command = JSON.stringify([process.execPath, "orders-process.mjs"]);
  return `[[processes]]\nname = "orders"\ncommand = ${command}\n`;
}

/** What realises an endpoint; a certificate of the benchmark's own is what its API shows. */
export function handlerTable(handler: BenchHandler, cert: string): string {
  if (handler === "function") return `type = "registered_function"\nfunction = "orders.place"`;
  if (handler === "process") return `type = "registered_function"\nfunction = "orders:place"`;
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

/** The same function, over pipes. */
export const PROCESS: string = `import { createInterface } from "node:readline";
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
send({ method: "hello", params: { protocol: 1, functions: ["place"] } });
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (method === "call") send({ id, result: { body: ${JSON.stringify(ORDER_RESULT)} } });
});
`;
