/**
 * What DISCOVER /apis and the manifest say of HTTP APIs: the operator's, and the faces of the
 * sidecar with where they are found, which a port that the system chose tells only once it is bound.
 * AGTP-API §5.8.5, §8
 */
import type { ApiEntry, Config } from "../../base/config.ts";
import type { GatewayFace } from "./face.ts";
import { OPENAPI_PATH } from "./openapi-path.ts";

/** The ports that a daemon has. */
export interface BoundPorts {
  readonly agtp: number;
  /** Undefined: no sidecar is served. */
  readonly gateway: number | undefined;
}

const WILDCARDS: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);
const DEFAULT_PORTS: Readonly<Record<string, number>> = { http: 80, https: 443 };
const AGTP_PORT = 4480;

/** The APIs of one deployment. */
export class ApiListing {
  readonly #config: Config;
  #faces: readonly GatewayFace[] = [];
  #ports: BoundPorts;
  #entries: readonly ApiEntry[] | undefined;

  constructor(config: Config) {
    this.#config = config;
    const { server, gateway } = config;
    this.#ports = { agtp: server.port, gateway: gateway.enabled ? gateway.port : undefined };
  }

  /** The faces beside that of the endpoints. */
  offer(faces: readonly GatewayFace[]): void {
    this.#faces = faces;
    this.#entries = undefined;
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

  /** Where the sidecar is found; undefined where nobody can tell. */
  get baseUrl(): string | undefined {
    const { baseUrl, host, cert } = this.#config.gateway;
    if (baseUrl !== undefined) return baseUrl.replace(/\/+$/, "");
    const { gateway: port } = this.#ports;
    if (port === undefined || port === 0 || WILDCARDS.has(host)) return undefined;
    const scheme = cert === undefined ? "http" : "https";
    return `${scheme}://${authority(host, port, DEFAULT_PORTS[scheme])}`;
  }

  /** Where the manifest is found. */
  get manifestUri(): string {
    const { domain, host } = this.#config.server;
    return `agtp://${domain ?? authority(host, this.#ports.agtp, AGTP_PORT)}`;
  }

  #list(): readonly ApiEntry[] {
    const { apis } = this.#config;
    if (this.#ports.gateway === undefined) return apis;
    const own = [ENDPOINTS, ...this.#faces].map((face) => this.#entryOf(face));
    const named = new Set(apis.map(({ name }) => name));
    return [...apis, ...own.filter(({ name }) => !named.has(name))];
  }

  #entryOf({ name, description, documentation }: ListedFace): ApiEntry {
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

type ListedFace = Pick<GatewayFace, "name" | "description" | "documentation">;

const ENDPOINTS: ListedFace = {
  name: "http-gateway",
  description: "The endpoints of this server for clients that speak HTTP.",
  documentation: OPENAPI_PATH,
};

function authority(host: string, port: number, usual: number | undefined): string {
  const name = host.includes(":") ? `[${host}]` : host;
  return port === usual || port === 0 ? name : `${name}:${port}`;
}
