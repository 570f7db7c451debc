/** The overview, the signed-in person, the nodes, and recent requests with their way through the gates. */
import { VERSION } from "../../../base/version.ts";
import { GATE_NAMES } from "../../../dispatch/gates/gate.ts";
import type { DaemonFacts } from "../../../dispatch/module/http-gateway.ts";
import { isOpen } from "../../../state/registers/escalation.ts";
import type { ServerState } from "../../../state/state.ts";
import type { Overview, TrafficDetail, TrafficEntry } from "../answers.ts";
import { type ApiRequest, type ApiRoute, get } from "../console-api.ts";
import { found, malformed } from "../console-fault.ts";
import type { Passkeys } from "../passkeys.ts";
import type { ConsolePlace } from "../place.ts";
import type { TrafficFilter } from "../request-ring.ts";
import { STEP_S, type Traffic } from "../traffic.ts";
import type { Sources } from "./sources.ts";

export interface OverviewParts {
  readonly serverId: string;
  readonly traffic: Traffic;
  readonly state: {
    readonly escalations: Pick<ServerState["escalations"], "list">;
    readonly ledger: Pick<ServerState["ledger"], "isWritable">;
  };
  documentVersion(): Promise<string | undefined>;
  readonly place: Pick<ConsolePlace, "daemon">;
  /** Undefined if the daemon did not start. */
  readonly passkeys: Pick<Passkeys, "ofOwner"> | undefined;
}

/** `GET /api/session`, `/api/overview` and `/api/history?after=`: the steps of the last hour. */
export function overviewRoutes(parts: OverviewParts): readonly ApiRoute[] {
  const { serverId, passkeys, traffic } = parts;
  return [
    get("/session", ({ signedIn: { person, csrf } }) => {
      const { id, name, role } = person;
      const facts = { id, name, role, csrf, server_id: serverId, version: VERSION };
      const hasPasskey = passkeys !== undefined && passkeys.ofOwner(id).length > 0;
      return { ...facts, inspect_only: passkeys === undefined, has_passkey: hasPasskey };
    }),
    get("/overview", () => overview(parts)),
    get("/history", ({ query }) => {
      const after = Number(query.get("after") ?? 0);
      if (!Number.isFinite(after)) throw malformed("after must be a number");
      return { step_s: STEP_S, points: traffic.history.points(after) };
    }),
  ];
}

/** Collects the current facts. */
export async function overview(parts: OverviewParts): Promise<Overview> {
  const { serverId, traffic, state, documentVersion } = parts;
  const daemon = parts.place.daemon ?? NOWHERE;
  const { address, port, gatewayPort, problems } = daemon;
  return {
    server: {
      ...{ server_id: serverId, version: VERSION, uptime_s: Math.floor(process.uptime()) },
      document_version: (await documentVersion()) ?? null,
      ...{ address, port, gateway_port: gatewayPort ?? null },
    },
    ...traffic.counts(),
    connections: await daemon.connectionCount(),
    journal: { writable: state.ledger.isWritable },
    problems,
    waiting: waitingCount(state),
    latest: traffic.history.latest ?? null,
  };
}

/** The number of escalations that await a decision. */
export function waitingCount({ escalations }: Pick<OverviewParts["state"], "escalations">): number {
  return escalations.list().filter(isOpen).length;
}

const NOWHERE: DaemonFacts = {
  ...{ address: "", port: 0, gatewayPort: undefined, problems: [] },
  connectionCount: async () => 0,
  nodes: async () => [],
};

/** `GET /api/nodes` */
export function nodeRoutes({ desk: { place } }: Sources): readonly ApiRoute[] {
  return [get("/nodes", async () => ({ nodes: (await place.daemon?.nodes()) ?? [] }))];
}

/** `GET /api/traffic` and `/api/traffic/{response_id}` */
export function trafficRoutes({ traffic, directory }: Sources): readonly ApiRoute[] {
  return [
    get("/traffic", ({ query }) => {
      const { epoch } = traffic;
      const { after, ...filter } = readFilter(query);
      // A number from another epoch means nothing here.
      const isKnown = after !== undefined && (query.get("epoch") ?? epoch) === epoch;
      return { epoch, entries: traffic.list(isKnown ? { ...filter, after } : filter) };
    }),
    get("/traffic/:id", ({ params }) => {
      const entry = found(traffic.find(params["id"] ?? ""), "request, or it is forgotten");
      const name = entry.agent_id === null ? undefined : directory.find(entry.agent_id)?.name;
      return { entry, agent_name: name ?? null, gates: wayOf(entry.gate) };
    }),
  ];
}

/** The gates that a request reached; the last of them refused it if one did. */
export function wayOf(gate: TrafficEntry["gate"]): TrafficDetail["gates"] {
  const at = gate === null ? -1 : GATE_NAMES.indexOf(gate);
  const passed = at < 0 ? GATE_NAMES : GATE_NAMES.slice(0, at + 1);
  return passed.map((name) => ({ name, passed: name !== gate }));
}

function readFilter(query: ApiRequest["query"]): TrafficFilter {
  const texts = ["agent", "method", "path", "gate"] as const;
  const filter = Object.fromEntries(
    texts.flatMap((name) => {
      const value = query.get(name);
      return value === null || value === "" ? [] : [[name, value]];
    }),
  );
  const since = query.get("since");
  return {
    ...filter,
    ...numberIn(query, "status"),
    ...numberIn(query, "after"),
    ...(since === null || since === "" ? {} : { since: timeOf(since) }),
  };
}

function numberIn(query: ApiRequest["query"], name: "status" | "after"): object {
  const value = query.get(name);
  if (value === null || value === "") return {};
  if (!/^\d{1,15}$/.test(value)) throw malformed(`${name} must be a number`);
  return { [name]: Number(value) };
}

function timeOf(text: string): number {
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw malformed("since must be a time as of RFC 3339");
  return time;
}
