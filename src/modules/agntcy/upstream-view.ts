/** An agent's health, for operators. */
import type { UpstreamAgent } from "../../dispatch/upstream-agent.ts";
import type { ConnectedAgent } from "./connect-agents.ts";

/** The agent as it is known by now. */
export function upstreamView(agent: ConnectedAgent): UpstreamAgent {
  const { manifest, settings, upstream } = agent.declared;
  const reason = reasonOf(agent);
  return {
    ...{ name: manifest.name, version: manifest.version, base: settings.base },
    url: upstream === undefined ? null : upstream.address.origin + upstream.address.basePath,
    state: stateOf(agent),
    ...(reason === undefined ? {} : { reason }),
    dependencies: agent.dependencies().map(({ name, status, reason: why }) => {
      return { name, status, ...(why === undefined ? {} : { reason: why }) };
    }),
  };
}

function stateOf({ readiness }: ConnectedAgent): UpstreamAgent["state"] {
  if (readiness === undefined) return "declared";
  if (readiness.isReady) return "ready";
  return readiness.fault === undefined ? "unchecked" : "unavailable";
}

function reasonOf({ declared: { choice }, readiness }: ConnectedAgent): string | undefined {
  return readiness === undefined && choice.kind === "declared" ? choice.reason : readiness?.fault;
}
