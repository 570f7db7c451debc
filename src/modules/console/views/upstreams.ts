/** Upstreams of the endpoints: HTTP APIs, MCP servers with their pinned tools, and remote agents. */
import { recordIn } from "../../../base/json-value.ts";
import type { EndpointDefinition } from "../../../endpoint/endpoint.ts";
import { changedToolOf } from "../../../handlers/mcp/changed-tool.ts";
import type { DeployedServers } from "../../../handlers/mcp/deployed-servers.ts";
import type { PinnedTool } from "../../../handlers/mcp/tool-pins.ts";
import type { ProcessHealth } from "../../../handlers/processes/process-pool.ts";
import { type Escalation, isOpen, type Verdict } from "../../../state/registers/escalation.ts";
import type { HttpUpstream, Upstreams, UpstreamTool } from "../answers.ts";
import { type ApiRoute, get, post, reasonIn, textIn } from "../console-api.ts";
import { found } from "../console-fault.ts";
import { confirmSigned } from "../passkey-desk.ts";
import type { Sources } from "./sources.ts";

const VERDICTS: Readonly<Record<string, Verdict>> = { accept: "accepted", refuse: "rejected" };

/** `/api/upstreams` and `/api/upstreams/{server}/{tool}` */
export function upstreamRoutes(parts: Sources): readonly ApiRoute[] {
  return [
    get("/upstreams", (): Upstreams => {
      const agents = parts.served().upstreamAgents();
      const processes = (parts.processes?.health ?? []).map(processView);
      return { http: httpUpstreams(parts), mcp: mcpUpstreams(parts), agents, processes };
    }),
    post("/upstreams/:server/:tool", ["action", "reason", "assertion"], async (request) => {
      const { params, body } = request;
      const status = VERDICTS[textIn(body, "action", Object.keys(VERDICTS))] ?? "rejected";
      const change = waitingChanges(parts).get(toolName(params["server"], params["tool"]));
      const waiting = found(change, "changed definition");
      await confirmSigned(parts.desk, waiting, status, { request, input: reasonIn(body) });
      return {};
    }),
  ];
}

/** View of a process that runs functions of endpoints. */
function processView({
  name,
  count,
  ready,
  calls,
  waiting,
  ...more
}: ProcessHealth): Upstreams["processes"][number] {
  const { restarts, latencyMs } = more;
  const state = ready === count ? "ready" : ready === 0 ? "down" : "warning";
  return { name, state, count, ready, calls, waiting, restarts, latency_ms: latencyMs ?? null };
}

function definitionsOf({ served }: Sources): readonly EndpointDefinition[] {
  return served()
    .listed.filter(({ tier }) => tier === "B")
    .map(({ definition }) => definition);
}

/** Lists the HTTP upstreams by origin, without the other parts of their URLs. */
function httpUpstreams(parts: Sources): readonly HttpUpstream[] {
  const counts = new Map<string, number>();
  for (const { handler } of definitionsOf(parts)) {
    if (handler.type !== "external_service" || !URL.canParse(handler.url)) continue;
    const { origin } = new URL(handler.url);
    counts.set(origin, (counts.get(origin) ?? 0) + 1);
  }
  return Array.from(counts, ([url, endpoints]) => {
    const {
      state = "unused",
      calls = 0,
      faults = 0,
      at,
      fault,
    } = parts.traffic.upstreams.of(url) ?? {};
    const last_at = at === undefined ? null : new Date(at).toISOString();
    const last_fault = fault === undefined ? {} : { last_fault: fault };
    return { url, endpoints, state, calls, faults, last_at, ...last_fault };
  });
}

interface BoundTool extends PinnedTool {
  readonly endpoint: string;
}

function boundTools(parts: Sources): readonly BoundTool[] {
  return definitionsOf(parts).flatMap(({ method, path, handler }) => {
    if (handler.type !== "mcp_tool") return [];
    const { server, tool, definition } = handler;
    return [{ server, tool, definition, endpoint: `${method} ${path}` }];
  });
}

function mcpUpstreams(parts: Sources): Upstreams["mcp"] {
  const { mcpServers: servers } = parts;
  if (servers === undefined) return [];
  const bound = boundTools(parts);
  const changes = waitingChanges(parts);
  return [...servers.servers].map(([name, server]) => {
    const { status: state } = server.health;
    const tools = bound.filter((tool) => tool.server === name);
    return { server: name, state, tools: tools.map((tool) => toolView(servers, tool, changes)) };
  });
}

function toolView(
  { servers, pins }: DeployedServers,
  bound: BoundTool,
  changes: ReturnType<typeof waitingChanges>,
): UpstreamTool {
  const pin = pins.pinOf(bound);
  const offered = servers.get(bound.server)?.offered;
  const now = offered?.get(bound.tool)?.pin;
  const waiting = changes.get(toolName(bound.server, bound.tool));
  return {
    ...{ tool: bound.tool, endpoint: bound.endpoint, pin },
    state:
      offered === undefined
        ? "unknown"
        : now === undefined
          ? "missing"
          : now === pin
            ? "pinned"
            : "changed",
    ...(waiting === undefined ? {} : changeView(waiting)),
  };
}

function changeView({ escalationId, context }: Escalation): Partial<UpstreamTool> {
  const difference = recordIn(context)["differences"];
  return { escalation_id: escalationId, ...(difference === undefined ? {} : { difference }) };
}

/** Open escalations of changed tools, the newest of each tool. */
function waitingChanges({ state }: Sources): ReadonlyMap<string, Escalation> {
  const open = state.escalations.list().filter(isOpen);
  return new Map(
    open.toReversed().flatMap((one) => {
      const changed = changedToolOf(one);
      return changed === undefined ? [] : [[toolName(changed.server, changed.tool), one] as const];
    }),
  );
}

function toolName(server = "", tool = ""): string {
  return JSON.stringify([server, tool]);
}
