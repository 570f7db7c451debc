/** The scenario of MCP: calls compared with the library's own server, many tools compared with few, and a long list. */
import { setTimeout as delay } from "node:timers/promises";
import { aimAtPort } from "./aim.ts";
import { startLoad } from "./load.ts";
import { ONE_IN_FLIGHT } from "./load-scenarios.ts";
import { type Contender, measureRounds, medianOf, ratioOf, type Timing } from "./measure.ts";
import { mcpCall, mcpRequest, sessionCall } from "./order.ts";
import { orderTool } from "./order-endpoint.ts";
import { atMost, type Row } from "./row.ts";
import type { ServerProcess } from "./server-process.ts";
import type { ServerPool } from "./servers.ts";
import { Tally } from "./tally.ts";

const MANY = 10_000;
const LISTED = 300;

/** Measures the cost of MCP compared with its library; with records, the daemon's default. */
export async function measureMcp(pool: ServerPool, timing: Timing): Promise<Row[]> {
  const started = (count: number) => pool.agtpd(count, { records: "unsigned", mcp: true });
  const few = await started(10);
  const library = await pool.mcpLibrary();
  const contenders = {
    library: await aim(library, library.port, [mcpCall(orderTool(0))]),
    few: await calling(few, 10),
    many: await calling(await started(MANY), MANY),
    librarySession: await callingInSession(library, library.port),
    session: await callingInSession(few, few.httpPort),
  };
  for (const contender of Object.values(contenders)) await warmUp(contender);
  const calls = await measureRounds(contenders, ONE_IN_FLIGHT, timing);
  const lister = await started(LISTED);
  const list = await aim(lister, lister.httpPort, [mcpRequest("tools/list", {})]);
  const { lists } = await measureRounds({ lists: list }, { connections: 1, inFlight: 1 }, timing);
  const listMicros = medianOf(lists, "cpuMicros");
  const scenario = "mcp";
  return [
    {
      agtpd: medianOf(calls.few, "cpuMicros"),
      library: medianOf(calls.library, "cpuMicros"),
      ...{ scenario, label: "MCP `tools/call`, with unsigned records: server CPU", unit: "µs" },
      goals: [atMost(ratioOf(calls.few, calls.library, "cpuMicros"), 1.2, "the library")],
    },
    {
      agtpd: medianOf(calls.few, "perSecond"),
      library: medianOf(calls.library, "perSecond"),
      ...{
        scenario,
        label: "the same, 16 connections, 1 in flight each",
        unit: "req/s",
        goals: [],
      },
    },
    {
      agtpd: medianOf(calls.session, "cpuMicros"),
      library: medianOf(calls.librarySession, "cpuMicros"),
      ...{ scenario, label: "MCP `tools/call` in a session of 2025-11-25: server CPU", unit: "µs" },
      goals: [
        atMost(ratioOf(calls.session, calls.librarySession, "cpuMicros"), 1.2, "the library"),
      ],
    },
    {
      agtpd: medianOf(calls.many, "cpuMicros"),
      ...{ scenario, label: "MCP `tools/call` with 10,000 tools: server CPU", unit: "µs" },
      goals: [atMost(ratioOf(calls.many, calls.few, "cpuMicros"), 1.05, "10 tools")],
    },
    {
      agtpd: listMicros,
      ...{ scenario, label: "MCP `tools/list` of 300: server CPU", unit: "µs" },
      goals: [atMost(listMicros / 1000, 5, "", "ms")],
    },
  ];
}

/** Calls each tool of a deployment in turn. */
function calling(server: ServerProcess, tools: number): Promise<Contender> {
  const calls = Array.from({ length: tools }, (_, index) => mcpCall(orderTool(index)));
  return aim(server, server.httpPort, calls);
}

/** Calls a tool in an existing session. */
async function callingInSession(
  server: ServerProcess,
  port: number | undefined,
): Promise<Contender> {
  const clientInfo = { name: "bench", version: "1.0.0" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params }),
  });
  await response.text();
  const sessionId = response.headers.get("mcp-session-id");
  if (sessionId === null) throw new Error(`no session was begun: ${response.status}`);
  // Ids of equal length, so that responses have equal length; each belongs to one connection,
  // because a session answers an id only once at a time.
  const ids = Array.from({ length: 60 * ONE_IN_FLIGHT.connections }, (_, index) => 1_000 + index);
  return aim(
    server,
    port,
    ids.map((id) => sessionCall(sessionId, id, orderTool(0))),
  );
}

/** Calls each tool once, because the first call of an endpoint initializes it. */
async function warmUp({ target }: Contender): Promise<void> {
  const tally = new Tally();
  const load = startLoad(target, ONE_IN_FLIGHT, tally);
  try {
    while (tally.count < MANY) await Promise.race([delay(20), load.failed]);
  } finally {
    load.stop();
  }
}

function aim(
  server: ServerProcess,
  port: number | undefined,
  requests: readonly Buffer[],
): Promise<Contender> {
  if (port === undefined) throw new Error("the server serves no HTTP");
  return aimAtPort(server, { port, ca: undefined }, { start: "HTTP/1.1 200", requests });
}
