/**
 * The HTTP sidecar of a deployment: the same dispatcher, registry and ledger as the AGTP listener's,
 * and its certificate.   `[gateway]`
 */
import { relative } from "node:path";
import type { Config } from "../base/config.ts";
import type { Problem } from "../base/problem.ts";
import { reasonOf } from "../base/thrown.ts";
import { HTTP_VERBS } from "../catalog/catalog.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { Route } from "../dispatch/route.ts";
import type { Toll } from "../dispatch/toll.ts";
import type { EndpointDefinition } from "../endpoint/endpoint.ts";
import type { EndpointRegistry } from "../endpoint/endpoint-registry.ts";
import type { AgentDocument } from "../identity/agent-document.ts";
import type { ApiListing } from "../modules/gateway/api-listing.ts";
import type { GatewayFace } from "../modules/gateway/face.ts";
import type { Gateway } from "../modules/gateway/gateway.ts";
import { createVerbRoutes } from "../modules/gateway/verb-routes.ts";
import { readCertificate } from "../server/certificate.ts";
import type { HttpTls } from "../server/http-listener.ts";
import type { Vocabulary } from "./vocabulary.ts";

/** What a deployment has for its sidecar. */
export interface SidecarParts extends Vocabulary {
  readonly config: Config;
  readonly dispatcher: Dispatcher;
  readonly registry: EndpointRegistry<Route>;
  readonly agent: AgentDocument;
  readonly isAgentIssued: boolean;
  readonly faces: readonly GatewayFace[];
  readonly toll: Toll;
  readonly apis: ApiListing;
  /** What the manifest lists. */
  listed(): readonly EndpointDefinition[];
  settle(done: () => void): void;
  reportFault(errorId: string, error: unknown): void;
}

/** The sidecar, or why it cannot be had. */
export type SidecarBuild =
  | { readonly gateway: Gateway; readonly problem?: undefined }
  | { readonly gateway?: undefined; readonly problem: Problem };

/** Builds the sidecar; only a deployment that has one loads what it needs. */
export async function buildSidecar(parts: SidecarParts): Promise<SidecarBuild> {
  const { config, methodPolicy, apis } = parts;
  const { createGateway } = await import("../modules/gateway/gateway.ts");
  const { serverId, operator, documentVersion } = config.server;
  const customMethods = config.policies.methods.custom;
  try {
    const gateway = await createGateway({
      ...parts,
      verbs: createVerbRoutes({ ...parts, customMethods }),
      openapiSource: () => ({
        endpoints: parts.listed(),
        ...{ serverId, catalog: parts.catalog, manifestUri: apis.manifestUri },
        ...(operator === undefined ? {} : { operator }),
        ...(documentVersion === undefined ? {} : { documentVersion }),
        ...(apis.baseUrl === undefined ? {} : { baseUrl: apis.baseUrl }),
        aliases: new Map(
          HTTP_VERBS.map((verb) => [verb, methodPolicy.alias(verb)?.method ?? verb]),
        ),
      }),
    });
    return { gateway };
  } catch (error) {
    const file = relative(config.directory, config.file);
    const message = `the HTTP sidecar cannot be built: ${reasonOf(error)}`;
    return { problem: { file, key: "gateway", message } };
  }
}

/** The sidecar's certificate, or what is wrong with it. */
export interface LoadedHttpTls {
  /** Undefined: plain HTTP. */
  readonly tls: HttpTls | undefined;
  readonly problems: readonly Problem[];
}

/** Loads the certificate that the configuration names, where it is needed. */
export function loadHttpTls({ gateway, directory }: Config): LoadedHttpTls {
  const { enabled, cert, key } = gateway;
  if (!enabled || cert === undefined || key === undefined) return { tls: undefined, problems: [] };
  const reading = readCertificate(cert, key);
  if (reading.problems === undefined) return { tls: reading, problems: [] };
  const problems = reading.problems.map((problem) => ({
    ...problem,
    file: relative(directory, problem.file) || problem.file,
  }));
  return { tls: undefined, problems };
}
