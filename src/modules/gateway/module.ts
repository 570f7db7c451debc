/**
 * The HTTP sidecar of a deployment: the same dispatcher, registry and ledger as the AGTP listener's,
 * and the agent that it speaks as.   `[gateway]`
 */
import { relative } from "node:path";
import type { Problem } from "../../base/problem.ts";
import { reasonOf } from "../../base/thrown.ts";
import { HTTP_VERBS } from "../../catalog/catalog.ts";
import type { Gateway, GatewayAgent } from "../../dispatch/module/http-gateway.ts";
import type { Contribution, Module } from "../../dispatch/module/module.ts";
import type { ExportSource } from "../../openapi/export-openapi.ts";
import { ApiListing } from "./api-listing.ts";
import type { GatewayContext, GatewaySections } from "./config.ts";
import { chooseGatewayAgent, issueGatewayAgent } from "./gateway-agent.ts";

export const gatewayModule: Module<GatewaySections> = {
  name: "gateway",
  takes: { apis: true, gateway: true, limits: true, policies: true, server: true },
  async provision(context) {
    const { config, directory, state, signingKey } = context;
    const choice = chooseGatewayAgent(config, directory.list());
    switch (choice.kind) {
      case "none":
        return {};
      case "refused":
        return { blockers: [choice.problem] };
      case "named":
        return serving(context, { agent: choice.agent, isAgentIssued: false });
      case "issued": {
        const { agent, problems, keep } = await issueGatewayAgent(config, state.store, signingKey);
        if (agent === undefined) return { blockers: problems };
        const served = serving(context, { agent, isAgentIssued: true });
        return { ...served, problems, agents: [agent], ...completing(served, keep) };
      }
    }
  },
};

/** Keeps the identity before anybody is spoken to in its name. */
function completing(
  { complete }: Contribution,
  keep: () => Promise<void>,
): Pick<Contribution, "complete"> {
  return {
    complete: async () => {
      await keep();
      return (await complete?.()) ?? [];
    },
  };
}

function serving(context: GatewayContext, speaker: GatewayAgent): Contribution {
  const { config } = context;
  const listing = new ApiListing(config, () => context.deployment().httpRoutes);
  let gateway: Gateway | undefined;
  return {
    features: ["http-gateway"],
    http: {
      agent: speaker,
      baseUrl: () => listing.baseUrl,
      apis: () => listing.entries,
      bind: (ports) => listing.bind(ports),
      gateway: () => gateway,
    },
    complete: async () => {
      try {
        gateway = await build(context, listing, speaker);
        return [];
      } catch (error) {
        return [notBuilt(config, error)];
      }
    },
    stop: async () => gateway?.close(),
  };
}

/** Only a deployment that serves HTTP loads what that needs. */
async function build(
  context: GatewayContext,
  listing: ApiListing,
  speaker: GatewayAgent,
): Promise<Gateway> {
  const { createGateway } = await import("./gateway.ts");
  const { createVerbRoutes } = await import("./verb-routes.ts");
  const { config, log, state, toll } = context;
  const { dispatcher, registry, httpRoutes } = context.deployment();
  const customMethods = config.policies.methods.custom;
  return createGateway({
    ...{ config, dispatcher, httpRoutes, toll, ...speaker },
    verbs: createVerbRoutes({ ...context, registry, customMethods }),
    ledger: state.ledger,
    openapiSource: () => openapiSource(context, listing),
    reportFault: (errorId, error) =>
      log.error({ event: "fault", error_id: errorId, error }, "an HTTP API failed"),
  });
}

function openapiSource(
  context: GatewayContext,
  { manifestUri, baseUrl }: ApiListing,
): ExportSource {
  const { catalog, methodPolicy } = context;
  const { serverId, operator, documentVersion } = context.config.server;
  return {
    endpoints: context.deployment().listed.map(({ definition }) => definition),
    ...{ serverId, catalog, manifestUri },
    ...(operator === undefined ? {} : { operator }),
    ...(documentVersion === undefined ? {} : { documentVersion }),
    ...(baseUrl === undefined ? {} : { baseUrl }),
    aliases: new Map(HTTP_VERBS.map((verb) => [verb, methodPolicy.alias(verb)?.method ?? verb])),
  };
}

function notBuilt({ directory, file }: GatewaySections, error: unknown): Problem {
  const message = `the HTTP sidecar cannot be built: ${reasonOf(error)}`;
  return { file: relative(directory, file), key: "gateway", message };
}
