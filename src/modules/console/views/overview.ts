/** The overview: counts, health, and how much waits for a decision. */
import { VERSION } from "../../../base/version.ts";
import type { DaemonFacts } from "../../../dispatch/module/http-gateway.ts";
import { isOpen } from "../../../state/registers/escalation.ts";
import type { ServerState } from "../../../state/state.ts";
import { type ApiRoute, get } from "../console-api.ts";
import { malformed } from "../console-fault.ts";
import type { Passkeys } from "../passkeys.ts";
import type { ConsolePlace } from "../place.ts";
import type { Traffic } from "../traffic.ts";
import { STEP_S } from "../traffic.ts";
import type { Sources } from "./sources.ts";

/** The sources of the overview. */
export interface OverviewParts {
  readonly serverId: string;
  readonly traffic: Traffic;
  readonly state: {
    readonly escalations: Pick<ServerState["escalations"], "list">;
    readonly ledger: Pick<ServerState["ledger"], "isWritable">;
  };
  documentVersion(): Promise<string | undefined>;
  readonly place: Pick<ConsolePlace, "daemon">;
  /** Undefined where the daemon was not started. */
  readonly passkeys: Pick<Passkeys, "of"> | undefined;
}

/** `GET /api/session`, `/api/overview` and `/api/history?after=`: what came in each step of the last hour. */
export function overviewRoutes(parts: OverviewParts): readonly ApiRoute[] {
  const { serverId, passkeys, traffic } = parts;
  return [
    get("/session", ({ signedIn: { person, csrf } }) => {
      const { id, name, role } = person;
      const facts = { name, role, csrf, server_id: serverId, version: VERSION };
      const hasPasskey = passkeys !== undefined && passkeys.of(id).length > 0;
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

/** The facts as they are now. */
export async function overview(parts: OverviewParts): Promise<object> {
  const { serverId, traffic, state, documentVersion } = parts;
  const { address, port, gatewayPort, connectionCount, problems } = parts.place.daemon ?? NOWHERE;
  return {
    server: {
      ...{ server_id: serverId, version: VERSION, uptime_s: Math.floor(process.uptime()) },
      document_version: (await documentVersion()) ?? null,
      ...{ address, port, gateway_port: gatewayPort ?? null },
    },
    ...traffic.counts(),
    connections: connectionCount,
    journal: { writable: state.ledger.isWritable },
    problems,
    waiting: waitingCount(state),
    latest: traffic.history.latest ?? null,
  };
}

/** The number of escalations that wait for a decision. */
export function waitingCount({ escalations }: Pick<OverviewParts["state"], "escalations">): number {
  const now = Date.now();
  return escalations.list().filter((one) => isOpen(one, now)).length;
}

const NOWHERE: DaemonFacts = {
  ...{ address: "", port: 0, gatewayPort: undefined, connectionCount: 0, problems: [] },
  nodes: async () => [],
};

/** `GET /api/nodes` */
export function nodeRoutes({ desk: { place } }: Sources): readonly ApiRoute[] {
  return [get("/nodes", async () => ({ nodes: (await place.daemon?.nodes()) ?? [] }))];
}
