/**
 * A deployment for driving the daemon from outside: handlers that answer at once, later, at length
 * or never, and a bus on which a test in the same process sees and releases them.
 */
import { EventEmitter, once } from "node:events";
import { configFile, type DeploymentFiles, endpointFile } from "./deployment.ts";
import { encodeRequest } from "./dispatch.ts";

/** An agent that the deployment believes without knowing it. */
export const AGENT_ID: string = "a".repeat(64);

const BUS_KEY = Symbol.for("agtpd.test.bus");
const shared = globalThis as unknown as Record<symbol, EventEmitter | undefined>;

/** Events `started ID`, `aborted ID` of handlers; `release ID` lets one answer. */
export const bus: EventEmitter = shared[BUS_KEY] ?? new EventEmitter();
bus.setMaxListeners(0);
shared[BUS_KEY] = bus;

/** Waits until a handler says that it was started or aborted; answers with what it adds. */
export async function heard(event: "started" | "aborted", id: string): Promise<unknown> {
  const [detail] = await once(bus, `${event} ${id}`);
  return detail;
}

const HANDLERS = `
const bus = globalThis[Symbol.for("agtpd.test.bus")];

export const echo = ({ input }) => ({ body: input });

export const blob = ({ input }) => ({ body: { data: "x".repeat(input.size) } });

/** Answers when it is released; ends by itself on the signal only if it is told to obey. */
export const wait = ({ input: { id, obeys }, signal }) =>
  new Promise((resolve, reject) => {
    bus.once("release " + id, () => resolve({ body: { id } }));
    signal.addEventListener("abort", () => {
      bus.emit("aborted " + id, signal.reason.message);
      if (obeys) reject(signal.reason);
    });
    bus.emit("started " + id);
  });

/** Answers with a promise that is settled already. */
export const soon = async ({ input }) => ({ body: input });

/** Answers a turn of the event loop later. */
export const later = ({ input }) =>
  new Promise((resolve) => setImmediate(() => resolve({ body: input })));
`;

/** Handlers for a daemon in a process of its own, where there is no bus: all of them echo. */
export const PLAIN_HANDLERS = `
export const echo = ({ input }) => ({ body: input });
export { echo as blob, echo as later, echo as soon, echo as wait };
`;

const text = { type: "string" };

const FILES: DeploymentFiles = {
  "handlers.mjs": HANDLERS,
  "endpoints/echoes.toml": endpointFile({
    ...{ method: "QUERY", path: "/echoes", properties: { text, number: { type: "integer" } } },
    handler: { type: "registered_function", function: "handlers.echo" },
  }),
  "endpoints/blobs.toml": endpointFile({
    ...{ method: "QUERY", path: "/blobs", properties: { size: { type: "integer" } } },
    handler: { type: "registered_function", function: "handlers.blob" },
  }),
  "endpoints/gates.toml": endpointFile({
    ...{ method: "EXECUTE", path: "/gates", properties: { id: text, obeys: { type: "boolean" } } },
    handler: { type: "registered_function", function: "handlers.wait" },
  }),
  "endpoints/soons.toml": endpointFile({
    ...{ method: "QUERY", path: "/soons", properties: { number: { type: "integer" } } },
    handler: { type: "registered_function", function: "handlers.soon" },
  }),
  "endpoints/laters.toml": endpointFile({
    ...{ method: "QUERY", path: "/laters", properties: { number: { type: "integer" } } },
    handler: { type: "registered_function", function: "handlers.later" },
  }),
};

/** Tables of agtp-server.toml; strangers are believed unless a table says otherwise. */
export type Tables = Readonly<Record<string, object>>;

/** The files of the deployment, with more tables and more files. */
export function serverFiles(tables: Tables = {}, files: DeploymentFiles = {}): DeploymentFiles {
  const policies = {
    scope_required_for_invocation: false,
    identity: { unknown_agents: "accept" },
  };
  return { ...FILES, "agtp-server.toml": configFile({ policies, ...tables }), ...files };
}

/** A request of the agent that is believed, as bytes. */
export function call(method: string, path: string, body: object = {}): Buffer {
  return encodeRequest({ method, path, headers: { "Agent-ID": AGENT_ID }, body });
}

/** `QUERY /echoes` with a number to tell replies apart. */
export function echo(number: number): Buffer {
  return call("QUERY", "/echoes", { number });
}
