/** The requests of late, and the way of one of them through the gates. */
import { GATE_NAMES } from "../../../dispatch/gates/gate.ts";
import { type ApiRequest, type ApiRoute, get } from "../console-api.ts";
import { found, malformed } from "../console-fault.ts";
import type { TrafficEntry, TrafficFilter } from "../request-ring.ts";
import type { Sources } from "./sources.ts";

/** `GET /api/traffic` and `/api/traffic/{response_id}` */
export function trafficRoutes({ traffic, directory }: Sources): readonly ApiRoute[] {
  return [
    get("/traffic", ({ query }) => ({ entries: traffic.list(readFilter(query)) })),
    get("/traffic/:id", ({ params }) => {
      const entry = found(traffic.find(params["id"] ?? ""), "request, or it is forgotten");
      const name = entry.agent_id === null ? undefined : directory.find(entry.agent_id)?.name;
      return { entry, agent_name: name ?? null, gates: wayOf(entry.gate) };
    }),
  ];
}

/** The gates that a request came to, the last of which refused it where one did. */
export function wayOf(gate: TrafficEntry["gate"]): readonly object[] {
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
