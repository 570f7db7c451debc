/**
 * The HTTP sidecar of a deployment, on the dispatcher, registry and ledger of the AGTP listener, and the agent that it
 * speaks as.   `[gateway]`
 */

import { relative } from "node:path";
import { urlAuthority } from "../../base/addresses.ts";
import type { Problem } from "../../base/problem.ts";
import { reasonOf } from "../../base/thrown.ts";
import { withoutEndSlashes } from "../../base/url-text.ts";
import { HTTP_VERBS } from "../../catalog/catalog.ts";
import { AGTP_PORT } from "../../client/uri.ts";
import type { BoundPorts, Gateway, GatewayAgent } from "../../dispatch/module/http-gateway.ts";
import type { HttpApi, HttpRoute } from "../../dispatch/module/http-route.ts";
import type { ApiEntry } from "../../dispatch/module/listing-sections.ts";
import type { Contribution, Module } from "../../dispatch/module/module.ts";
import type { ExportSource } from "../../openapi/export-openapi.ts";
import type { GatewayContext, GatewaySections } from "./config.ts";
import { chooseGatewayAgent, issueGatewayAgent } from "./gateway-agent.ts";
import { isUnder, OPENAPI_PATH } from "./http-target.ts";

export const gatewayModule: Module<GatewaySections> = {
  name: "gateway",
  takes: { apis: true, gateway: true, limits: true, policies: true, server: true },
  async provision(context) {
    const { config, directory } = context;
    const choice = chooseGatewayAgent(config, directory.list());
    switch (choice.kind) {
      case "none":
        return {};
      case "refused":
        return { blockers: [choice.problem] };
      case "named":
        return serving(context, { agent: choice.agent, isAgentIssued: false });
      case "issued": {
        const { agent, problems, keep } = await issueGatewayAgent(context);
        if (agent === undefined) return { blockers: problems };
        const served = serving(context, { agent, isAgentIssued: true });
        return { ...served, problems, agents: [agent], ...completing(served, keep) };
      }
    }
  },
};

/** Stores the agent's identity before it is used. */
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
        return hiddenEndpoints(context);
      } catch (error) {
        return [notBuilt(config, error)];
      }
    },
    stop: async () => gateway?.close(),
  };
}

/** Loads the HTTP dependencies, which other deployments do not need. */
async function build(
  context: GatewayContext,
  listing: ApiListing,
  speaker: GatewayAgent,
): Promise<Gateway> {
  const { createGateway } = await import("./gateway.ts");
  const { createVerbRoutes } = await import("./http-entrance.ts");
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

/** Warns of endpoints whose path an HTTP API claims, and which are then reached over AGTP only. */
function hiddenEndpoints(context: GatewayContext): readonly Problem[] {
  return context.deployment().listed.flatMap(({ definition: { file, path } }) => {
    const taker = takerOf(path, context);
    if (file === "" || taker === undefined) return [];
    const message = `is not served over HTTP, where "${taker.prefix}" is the API ${taker.api.name}`;
    return [{ file, key: "endpoint.path", message, severity: "warning" }];
  });
}

function takerOf(path: string, context: GatewayContext): Taken | undefined {
  const { httpRoutes } = context.deployment();
  return [...httpRoutes, DOCUMENT].find(({ prefix }) => isUnder(prefix, path));
}

function openapiSource(
  context: GatewayContext,
  { manifestUri, baseUrl }: ApiListing,
): ExportSource {
  const { catalog, methodPolicy } = context;
  const { server, policies } = context.config;
  const { serverId, operator, documentVersion } = server;
  return {
    endpoints: context
      .deployment()
      .listed.map(({ definition }) => definition)
      .filter(({ path }) => takerOf(path, context) === undefined),
    ...{ serverId, catalog, manifestUri, operator, documentVersion, baseUrl },
    aliases: new Map(HTTP_VERBS.map((verb) => [verb, methodPolicy.alias(verb)?.method ?? verb])),
    oauth: policies.oauth,
  };
}

function notBuilt({ directory, file }: GatewaySections, error: unknown): Problem {
  const message = `the HTTP sidecar cannot be built: ${reasonOf(error)}`;
  return { file: relative(directory, file), key: "gateway", message };
}

const WILDCARDS: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);
const DEFAULT_PORTS: Readonly<Record<string, number>> = { http: 80, https: 443 };

/**
 * The HTTP APIs for DISCOVER /apis and the manifest: the operator's, and the sidecar's with their URLs, which need the
 * bound port if the system chose it.   AGTP-API §5.8.5, §8
 */
export class ApiListing {
  readonly #config: GatewaySections;
  readonly #routes: () => readonly HttpRoute[];
  #ports: BoundPorts;
  #entries: readonly ApiEntry[] | undefined;

  /** `routes` gives the routes of the other APIs, and is called when the list is built. */
  constructor(config: GatewaySections, routes: () => readonly HttpRoute[]) {
    this.#config = config;
    this.#routes = routes;
    const { server, gateway } = config;
    this.#ports = { agtp: server.port, gateway: gateway.enabled ? gateway.port : undefined };
  }

  /** Replaces the configured ports by the bound ones. */
  bind(ports: BoundPorts): void {
    this.#ports = ports;
    this.#entries = undefined;
  }

  /** Every API; the list is cached until the ports change. */
  get entries(): readonly ApiEntry[] {
    this.#entries ??= this.#list();
    return this.#entries;
  }

  /** The URL of the sidecar; undefined if it cannot be known. */
  get baseUrl(): string | undefined {
    const { baseUrl, host, cert } = this.#config.gateway;
    if (baseUrl !== undefined) return withoutEndSlashes(baseUrl);
    const { gateway: port } = this.#ports;
    if (port === undefined || port === 0 || WILDCARDS.has(host)) return undefined;
    const scheme = cert === undefined ? "http" : "https";
    return `${scheme}://${urlAuthority(host, port, DEFAULT_PORTS[scheme])}`;
  }

  get manifestUri(): string {
    const { domain, host } = this.#config.server;
    return `agtp://${domain ?? urlAuthority(host, this.#ports.agtp, AGTP_PORT)}`;
  }

  #list(): readonly ApiEntry[] {
    const { apis } = this.#config;
    if (this.#ports.gateway === undefined) return apis;
    const served = new Set([ENDPOINTS, ...this.#routes().map(({ api }) => api)]);
    const own = [...served].map((api) => this.#entryOf(api));
    const named = new Set(apis.map(({ name }) => name));
    return [...apis, ...own.filter(({ name }) => !named.has(name))];
  }

  #entryOf({ name, description, documentation }: HttpApi): ApiEntry {
    const { baseUrl } = this;
    return {
      ...{ name, description },
      ...(baseUrl === undefined ? {} : { base_url: baseUrl }),
      ...(baseUrl === undefined || documentation === undefined
        ? {}
        : { http_documentation: `${baseUrl}${documentation}` }),
    };
  }
}

const ENDPOINTS: HttpApi = {
  name: "http-gateway",
  description: "The endpoints of this server for clients that speak HTTP.",
  documentation: OPENAPI_PATH,
};

type Taken = Pick<HttpRoute, "prefix" | "api">;
const DOCUMENT: Taken = { prefix: OPENAPI_PATH, api: ENDPOINTS };
