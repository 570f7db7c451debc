/**
 * A module: a capability of the daemon outside the pipeline, such as search or delegation. It is
 * provisioned anew for each deployment, and `app` combines the contributions. Modules do not know
 * each other: a module sees the contributions of the modules before it in its context, and those of
 * all modules by `deployment()`, once it is assembled.
 */

import type { KeyObject } from "node:crypto";
import type { ConfigPlace } from "../../base/deployment-files.ts";
import type { Environment } from "../../base/environment.ts";
import type { JsonRecord } from "../../base/json-value.ts";
import type { Drive } from "../../base/paced.ts";
import type { Problem } from "../../base/problem.ts";
import type { Catalog } from "../../catalog/catalog.ts";
import type { MethodNames } from "../../catalog/path-grammar.ts";
import type { EndpointRegistry } from "../../endpoint/endpoint-registry.ts";
import type { Recipe } from "../../endpoint/recipe.ts";
import type { CallLog } from "../../handlers/handler.ts";
import type { DeployedServers } from "../../handlers/mcp/deployed-servers.ts";
import type { ModuleLoader } from "../../handlers/module-loader.ts";
import type { DeployedProcesses } from "../../handlers/processes/deployed-processes.ts";
import type { AgentDirectory } from "../../identity/agent-directory.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import type { TokenVerifier } from "../../identity/bearer-syntax.ts";
import type { SchemaCompiler } from "../../schema/schema.ts";
import type { Attributor } from "../../state/records/ledger.ts";
import type { ContractRegister } from "../../state/registers/contract-register.ts";
import type { Approvals } from "../approvals/approvals.ts";
import type { Confirmable } from "../approvals/confirmation.ts";
import type { DelegationReader } from "../caller/delegation.ts";
import type { ContractRoutes } from "../contracts/contract-routes.ts";
import type { Dispatcher } from "../dispatcher.ts";
import type { ActAs } from "../handling/acting.ts";
import type { MethodPolicy } from "../policy/method-policy.ts";
import type { ProcessState } from "../process-state.ts";
import type { Refusal } from "../refusals/refusal.ts";
import type { FloorMethod } from "../routes/floor.ts";
import type { RegisteredRoute, Route, RouteHandler } from "../routes/route.ts";
import type { TakenPairs } from "../routes/taken-pairs.ts";
import type { ConsoleSide, HttpSide } from "./http-gateway.ts";
import type { HttpRoute } from "./http-route.ts";
import type { ApiEntry, HostedProtocolEntry } from "./listing-sections.ts";
import type { QuerySource } from "./query-source.ts";
import type { WebhookQueue } from "./webhook-queue.ts";

/** A capability of the daemon: a folder of `src/modules`, and a line in `src/app/modules.ts`. */
export interface Module<Config extends ConfigPlace = ConfigPlace> {
  readonly name: string;
  /** The sections of the configuration that it receives. */
  readonly takes: { readonly [Section in Exclude<keyof Config, keyof ConfigPlace>]: true };
  /** Reads its configuration and returns its contribution; nothing runs or is written yet. */
  provision(context: ModuleContext<Config>): Promise<Contribution>;
}

/** The methods of a server, and its policy for them. */
export interface ServerVocabulary {
  readonly catalog: Catalog;
  readonly names: MethodNames;
  readonly methodPolicy: MethodPolicy;
}

/** The contributions of the operator and of the modules before this one. */
export interface Brought {
  /** The agents so far. */
  readonly directory: AgentDirectory;
  /** The routes so far, the operator's first. */
  readonly routes: readonly Route[];
  /** The pairs declared so far, with their files. */
  readonly taken: Pick<TakenPairs, "fileOf">;
  /** The handlers of INSPECT for targets besides agents and contracts. */
  readonly inspections: ReadonlyMap<string, RouteHandler>;
  /** The handlers of REVOKE for targets besides agents and contracts. */
  readonly revocations: ReadonlyMap<string, RouteHandler>;
  /** The DISCOVER on "/" that searches by criteria. */
  readonly criteria: FloorMethod | undefined;
  /** The agents of another system; undefined if none are served. */
  readonly inventory: HostedInventory | undefined;
  /** The server's features in the manifest. */
  readonly features: readonly string[];
  /** Undefined if no HTTP is served. */
  readonly http: HttpSide | undefined;
}

/** The context that a module is provisioned with. */
export interface ModuleContext<Config extends ConfigPlace = ConfigPlace>
  extends ServerVocabulary,
    ProcessState,
    Brought {
  readonly config: Config;
  readonly env: Environment;
  readonly log: Pick<CallLog, "info" | "warn" | "error">;
  /** Runs the steps of loading; during a reload it yields to requests in between. */
  readonly drive: Drive;
  readonly compiler: SchemaCompiler;
  readonly recipes: ReadonlyMap<string, Recipe>;
  readonly loader: ModuleLoader;
  /** Undefined if nothing is signed. */
  readonly signingKey: KeyObject | undefined;
  readonly attributor: Attributor;
  /** The MCP servers behind endpoints; undefined if none is configured. */
  readonly mcpServers: DeployedServers | undefined;
  /** The processes with functions of endpoints; undefined if none is configured. */
  readonly processes: Pick<DeployedProcesses, "health"> | undefined;
  /** Undefined if bearer tokens are ignored. */
  readonly tokens: TokenVerifier | undefined;
  /** The deployment that the module belongs to; throws until it is assembled. */
  deployment(): AssembledDeployment;
}

/** An assembled deployment, as its own modules see it. */
export interface AssembledDeployment {
  readonly dispatcher: Dispatcher;
  /** Makes a request in an agent's name. */
  readonly actAs: ActAs;
  readonly registry: EndpointRegistry<Route>;
  /** The routes that DISCOVER /methods lists, the operator's first. */
  readonly listed: readonly RegisteredRoute[];
  /** The routes that QUERY finds although they are not listed. */
  readonly unlisted: readonly RegisteredRoute[];
  /** The contracts. */
  readonly contracts: Pick<
    ContractRegister,
    "active" | "activeFor" | "eachOpen" | "present" | "openOf" | "ofAgent" | "revisionOf"
  >;
  readonly negotiation: Negotiation;
  readonly directory: AgentDirectory;
  readonly sources: readonly QuerySource[];
  readonly confirmables: readonly Confirmable[];
  readonly httpRoutes: readonly HttpRoute[];
  readonly features: readonly string[];
  readonly hostedProtocols: readonly HostedProtocolEntry[];
  /** Undefined if no messages are sent to people. */
  readonly webhooks: WebhookQueue | undefined;
  /** Tells whether a call needs an operator's approval. */
  readonly needsApproval: Approvals["isNeeded"];
  /** The agents on other servers that endpoints call. */
  upstreamAgents(): readonly UpstreamAgent[];
  /** The operator's APIs, and those that the HTTP listener serves. */
  apis(): readonly ApiEntry[];
  /** The manifest's `document_version`; undefined without a manifest. */
  documentVersion(): Promise<string | undefined>;
}

/** The agents of another system, as that system describes them. */
export interface HostedInventory {
  readonly isEmpty: boolean;
  /** Returns an agent's entry, or a refusal; undefined if the system has no such agent. */
  find(name: string, callerId: string | undefined): object | Refusal | undefined;
  /** Returns the pairs that an agent may call here, by its AGTP identity. */
  toolsOf(agent: AgentDocument): readonly string[];
}

/** The contribution of a module to a deployment. */
export interface Contribution {
  /** AGTP endpoints, floor methods included. */
  readonly routes?: readonly Route[];
  /** HTTP routes, besides the verbs of the gateway. */
  readonly httpRoutes?: readonly HttpRoute[];
  /** Sources for QUERY. */
  readonly sources?: readonly QuerySource[];
  /** Kinds of things that CONFIRM decides. */
  readonly confirmables?: readonly Confirmable[];
  /** Problems that leave something out; the operator chooses if they stop the start. */
  readonly problems?: readonly Problem[];
  /** Problems whose errors always stop the start: the configuration names something unavailable. */
  readonly blockers?: readonly Problem[];
  /** The configuration key under which a route is reported if a file's endpoint has its pair. */
  readonly routesKey?: string;
  /** Identities of the agents that it hosts; an agent that is already known takes precedence. */
  readonly agents?: readonly AgentDocument[];
  readonly inspections?: Brought["inspections"];
  readonly revocations?: Brought["revocations"];
  readonly criteria?: FloorMethod;
  /** Features that the manifest names. */
  readonly features?: readonly string[];
  readonly hostedProtocols?: readonly HostedProtocolEntry[];
  readonly inventory?: HostedInventory;
  /** The queue of messages to people. */
  readonly webhooks?: WebhookQueue;
  /** Reads the delegation tokens of peers. */
  readonly delegations?: DelegationReader;
  /** Answers for unregistered pairs, and for contracts. */
  readonly negotiation?: Negotiation;
  readonly http?: HttpSide;
  readonly console?: ConsoleSide;
  /** Commands of the control socket, by name. Each throws an error with the message for the user. */
  readonly commands?: ReadonlyMap<string, (options: JsonRecord) => unknown>;
  /** The agents on other servers that its endpoints call, in their present state. */
  upstreamAgents?(): readonly UpstreamAgent[];
  /** Returns the manifest's current `document_version`. */
  documentVersion?(): Promise<string>;
  /** Called once the deployment is assembled without errors: builds what needs the whole, stores identities. */
  complete?(): Promise<readonly Problem[]>;
  /** Does slow preparation; awaited before the previous deployment is replaced. */
  prepare?(): Promise<void>;
  /** Called when this deployment starts to serve. */
  start?(): void;
  /** Called after the ready line: does work that the first request would otherwise wait for. */
  warmUp?(): void;
  /** Writes state that outlives the process; called together with `warmUp`. */
  keep?(): Promise<readonly Problem[]>;
  /**
   * Called when this deployment is replaced or the daemon stops: ends what its last requests can do
   * without.
   */
  stop?(): Promise<void>;
  /** Called once the last request is answered. */
  close?(): Promise<void>;
}

/** The parts of the contract gates that a module provides. */
export interface Negotiation {
  readonly routes: Pick<ContractRoutes, "bind" | "routeOf">;
  readonly route: Route | undefined;
  /** Undefined if nothing is negotiated. */
  readonly offers: ContractOffers | undefined;
}

/** An agent on another server that endpoints call, as operators see it; keys are the wire's. */
export interface UpstreamAgent {
  readonly name: string;
  readonly version: string;
  /** The path that it is served under. */
  readonly base: string;
  /** The URL of its server; null if it cannot be called. */
  readonly url: string | null;
  /**
   * `ready`: its server has it. `unavailable`: its server lacks it, or does not answer.
   * `unchecked`: not checked yet. `declared`: no server is known.
   */
  readonly state: "ready" | "unavailable" | "unchecked" | "declared";
  /** The reason why it cannot be called. */
  readonly reason?: string;
  readonly dependencies: readonly UpstreamDependency[];
}

/** An agent that it depends on. */
interface UpstreamDependency {
  readonly name: string;
  readonly status: string;
  readonly reason?: string;
}

/**
 * Unregistered routes that offer a contract and decide on the offer, for protocols whose clients
 * see a contract before they accept it.
 */
export interface ContractOffers {
  /** PROPOSE that answers 461 instead of 263: the contract is offered, but not yet agreed. */
  readonly propose: Route;
  /** The client's decision on an offer: `{synthesis_id, decision}`, with an `OfferDecision`. */
  readonly decide: Route;
}

/** A decision on an offer; `show` decides nothing and returns the offer again. */
export type OfferDecision = "accept" | "decline" | "show";
