/** The files that the nodes of a cluster share. */

/** The id of the workflow that runs. */
export const WORKFLOW = "walk";
const STEPS = 4;
const STEP_MS = 150;

/** The handlers; an effect is noted, with the shared monotonic clock, some time before its answer. */
export function handlers(effects: string): string {
  return `import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
export const read = () => ({ body: {} });
export const reserve = async ({ input }) => {
  const at = Number(process.hrtime.bigint()) / 1e6;
  appendFileSync(${JSON.stringify(effects)}, JSON.stringify({ key: input.key, at }) + "\\n");
  await delay(20 * Math.random());
  return { body: { reserved: input.key } };
};
`;
}

/** A workflow of sequential steps that take some time. */
export function workflow(): object {
  const nodes = Array.from({ length: STEPS }, (_, index) => ({
    ...{ id: `n${index}`, typeId: "core.delay", name: "Wait", position: { x: 0, y: 0 } },
    ...{ config: { delayMs: STEP_MS }, inputs: {} },
  }));
  const edges = nodes.slice(1).map(({ id }, index) => ({
    ...{ id: `e${index}`, sourceNodeId: `n${index}`, targetNodeId: id },
  }));
  return {
    ...{ id: WORKFLOW, name: "Walk", version: "1.0", nodes, edges, variables: [] },
    ...{ metadata: {}, settings: {}, triggers: [{ id: "manual", type: "manual" }] },
  };
}

/** The TOML of an endpoint. */
export function endpoint(method: string, path: string, name: string, more = ""): string {
  return `[endpoint]
method = "${method}"
path = "${path}"
${more}
description = "An endpoint of the torture."
errors = []
[endpoint.semantic]
intent = "Do what is asked for."
actor = "agent"
outcome = "It is done."
capability = "transaction"
confidence = 0.5
impact = "reversible"
is_idempotent = false
[endpoint.input_schema]
type = "object"
additionalProperties = false
[endpoint.input_schema.properties]
key = { type = "string" }
[endpoint.output_schema]
type = "object"
[endpoint.handler]
type = "registered_function"
function = "handlers.${name}"
`;
}

/** The document of an agent, without its name. */
export const AGENT: Readonly<Record<string, unknown>> = {
  agtp_version: "1.0",
  description: "An agent of the torture.",
  principal: "Torture",
  principal_id: "torture.example",
  issuer: "https://torture.example",
  issued_at: "2026-01-15T09:00:00Z",
  status: "active",
  scopes_accepted: ["booking:room", "runs:create", "runs:read"],
};
