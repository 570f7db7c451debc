/** A daemon with its HTTP sidecar, and HTTP clients that write what they like. */
import { connect } from "node:net";
import { onTestFinished } from "vitest";
import { openDaemon, type TestDaemon } from "./daemon.ts";
import {
  agentFile,
  configFile,
  type DeploymentFiles,
  ECHO_MODULE,
  endpointFile,
} from "./deployment.ts";

/** The agent that the sidecar of the test speaks as. */
export const DESK: string = "d".repeat(64);

/** What the agent holds. */
const DESK_SCOPES: readonly string[] = ["orders:read", "orders:write"];

const SEMANTIC = {
  ...{ intent: "Do what the test asks for.", actor: "agent", outcome: "It is done." },
  ...{ capability: "transaction", confidence: 0.5, is_idempotent: false },
};
const INFORMS = { semantic: { ...SEMANTIC, impact: "informational" } };
const EFFECT = { semantic: { ...SEMANTIC, impact: "irreversible" } };
const order = { order_id: { type: "string" }, quantity: { type: "integer" } };

const HANDLERS = `${ECHO_MODULE}
export const create = () => ({
  body: { id: "7" },
  headers: { Location: "/orders/7", Connection: "close", "Keep-Alive": "timeout=1", "X-Own": "1" },
});
export const fail = () => {
  throw new Error("a secret");
};
export const page = () => ({ body: new TextEncoder().encode("<p>é</p>"), headers: { "Content-Type": "text/html" } });
export const fields = ({ headers }) => ({ body: { headers } });
`;

function handler(name: string): object {
  return { handler: { type: "registered_function", function: `desk.${name}` } };
}

const ENDPOINTS: readonly object[] = [
  { method: "FETCH", path: "/orders/{order_id}", properties: order, ...INFORMS },
  { method: "REPLACE", path: "/orders/{order_id}", properties: order },
  { method: "CANCEL", path: "/orders/{order_id}", properties: order, ...EFFECT },
  { method: "CREATE", path: "/orders", properties: order, ...handler("create") },
  { method: "AUDIT", path: "/orders", properties: order, ...INFORMS },
  { method: "SEARCH", path: "/orders", properties: order, required_scopes: ["orders:read"] },
  { method: "ARCHIVE", path: "/orders", properties: order, required_scopes: ["orders:archive"] },
  { method: "FETCH", path: "/pages", ...INFORMS, ...handler("page") },
  { method: "FETCH", path: "/fields", ...INFORMS, ...handler("fields") },
  { method: "CREATE", path: "/failures", ...handler("fail") },
];

/** Tables of agtp-server.toml. */
export type Tables = Readonly<Record<string, object>>;

/** The order desk, with more tables and more files. */
export function gatewayFiles(tables: Tables = {}, files: DeploymentFiles = {}): DeploymentFiles {
  const endpoints = ENDPOINTS.map((endpoint, index) => [
    `endpoints/desk-${index}.toml`,
    endpointFile({ ...handler("echo"), ...endpoint } as Parameters<typeof endpointFile>[0]),
  ]);
  return {
    "agtp-server.toml": configFile(withGateway(tables)),
    "agents/desk.agent.json": agentFile({
      ...{ agent_id: DESK, name: "desk", owner_id: "desk-owner" },
      scopes_accepted: DESK_SCOPES,
    }),
    "desk.mjs": HANDLERS,
    ...Object.fromEntries(endpoints),
    ...files,
  };
}

/** The tables with a sidecar on any free port, which speaks as the desk. */
export function withGateway(tables: Tables): Tables {
  return { ...tables, gateway: { enabled: true, port: 0, agent: "desk", ...tables["gateway"] } };
}

/** A daemon that HTTP clients can reach. */
export interface TestGateway extends TestDaemon {
  readonly port: number;
  /** Fetches a path of the sidecar; nothing is followed. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** Sends JSON. */
  send(method: string, path: string, body: unknown): Promise<Response>;
}

/** Starts the daemon for the running test. */
export async function openGateway(files: DeploymentFiles = gatewayFiles()): Promise<TestGateway> {
  const server = await openDaemon(files);
  const port = server.daemon.gatewayPort ?? 0;
  const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}${path}`, { redirect: "manual", ...init });
  return {
    ...server,
    port,
    fetch: ask,
    send: (method, path, body) =>
      ask(path, {
        method,
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
  };
}

/** What came back on one connection until the peer closed it. */
interface RawExchange {
  write(octets: string): void;
  /** Resolves once this much text, or the end, was received. */
  until(text: string): Promise<string>;
  closed(): Promise<string>;
  /** Ends this side; the peer may still answer. */
  end(): void;
  destroy(): void;
}

/** Connects to a plain port, and writes octets as they are. */
export async function connectPlain(port: number): Promise<RawExchange> {
  const socket = connect({ host: "127.0.0.1", port });
  let received = "";
  let isClosed = false;
  let wake: () => void = () => undefined;
  socket.setEncoding("latin1");
  socket.on("error", () => undefined);
  socket.on("data", (chunk) => {
    received += chunk;
    wake();
  });
  socket.on("close", () => {
    isClosed = true;
    wake();
  });
  onTestFinished(() => void socket.destroy());
  await new Promise((resolve, reject) => {
    socket.once("connect", resolve);
    socket.once("error", reject);
  });
  const wait = async (isEnough: () => boolean): Promise<string> => {
    while (!isEnough() && !isClosed) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    return received;
  };
  return {
    write: (octets) => void socket.write(octets, "latin1"),
    until: (text) => wait(() => received.includes(text)),
    closed: () => wait(() => false),
    end: () => void socket.end(),
    destroy: () => void socket.destroy(),
  };
}

/** The statuses of the responses in what was received. */
export function statusesIn(received: string): readonly number[] {
  return [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}
