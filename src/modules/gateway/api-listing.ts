/**
 * The HTTP APIs in DISCOVER /apis and in the manifest: the operator's, and those of the
 * sidecar with where they are found, which a port that the system chose tells only once it is bound.
 * AGTP-API §5.8.5, §8
 */
import { urlAuthority } from "../../base/addresses.ts";
import type { BoundPorts } from "../../dispatch/module/http-gateway.ts";
import type { HttpApi, HttpRoute } from "../../dispatch/module/http-route.ts";
import type { ApiEntry } from "../../dispatch/module/listing-sections.ts";
import type { GatewaySections } from "./config.ts";
import { OPENAPI_PATH } from "./http-target.ts";

const WILDCARDS: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);
const DEFAULT_PORTS: Readonly<Record<string, number>> = { http: 80, https: 443 };
const AGTP_PORT = 4480;

/** The APIs of one deployment. */
export class ApiListing {
  readonly #config: GatewaySections;
  readonly #routes: () => readonly HttpRoute[];
  #ports: BoundPorts;
  #entries: readonly ApiEntry[] | undefined;

  /** `routes` are those beside the verbs; they are asked for when the list is. */
  constructor(config: GatewaySections, routes: () => readonly HttpRoute[]) {
    this.#config = config;
    this.#routes = routes;
    const { server, gateway } = config;
    this.#ports = { agtp: server.port, gateway: gateway.enabled ? gateway.port : undefined };
  }

  /** The ports as they are, whatever the configuration says of them. */
  bind(ports: BoundPorts): void {
    this.#ports = ports;
    this.#entries = undefined;
  }

  /** Every API; the same list until something about it changes. */
  get entries(): readonly ApiEntry[] {
    this.#entries ??= this.#list();
    return this.#entries;
  }

  /** The URL of the sidecar; undefined where nobody can tell. */
  get baseUrl(): string | undefined {
    const { baseUrl, host, cert } = this.#config.gateway;
    if (baseUrl !== undefined) return baseUrl.replace(/\/+$/, "");
    const { gateway: port } = this.#ports;
    if (port === undefined || port === 0 || WILDCARDS.has(host)) return undefined;
    const scheme = cert === undefined ? "http" : "https";
    return `${scheme}://${urlAuthority(host, port, DEFAULT_PORTS[scheme])}`;
  }

  /** The URL of the manifest. */
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
