/**
 * A module: a capability of the daemon that is not the pipeline, such as search or delegation. It is
 * provisioned anew for every deployment, and says what it adds; `app` puts the contributions together.
 * Modules know nothing of each other: a module sees in its context what those before it in the list
 * have contributed, and what all of them have by `deployment()`, once it is put together.
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
  /** The sections of the configuration that it is given. */
  readonly takes: { readonly [Section in Exclude<keyof Config, keyof ConfigPlace>]: true };
  /** Reads its part of the configuration and says what it adds; nothing runs yet, nothing is written. */
  provision(context: ModuleContext<Config>): Promise<Contribution>;
}

/** The methods of a server, and its policy about them. */
export interface ServerVocabulary {
  readonly catalog: Catalog;
  readonly names: MethodNames;
  readonly methodPolicy: MethodPolicy;
}

/** The contributions of the operator and of the modules before this one. */
export interface Brought {
  /** Every agent so far. */
  readonly directory: AgentDirectory;
  /** Every route so far, the operator's first. */
  readonly routes: readonly Route[];
  /** The files that have declared pairs so far. */
  readonly taken: Pick<TakenPairs, "fileOf">;
  /** Things that INSPECT shows beside agents and contracts, by target. */
  readonly inspections: ReadonlyMap<string, RouteHandler>;
  /** Things that REVOKE ends beside agents and contracts, by target. */
  readonly revocations: ReadonlyMap<string, RouteHandler>;
  /** DISCOVER "/" by criteria. */
  readonly criteria: FloorMethod | undefined;
  /** Undefined: no agents of another system are served. */
  readonly inventory: HostedInventory | undefined;
  /** The features of the server in its manifest. */
  readonly features: readonly string[];
  /** Undefined: no HTTP is served. */
  readonly http: HttpSide | undefined;
}

/** The parts that a module is provisioned with. */
export interface ModuleContext<Config extends ConfigPlace = ConfigPlace>
  extends ServerVocabulary,
    ProcessState,
    Brought {
  readonly config: Config;
  readonly env: Environment;
  readonly log: Pick<CallLog, "info" | "warn" | "error">;
  /** Drives the loading; a reload lets others have their turn in between. */
  readonly drive: Drive;
  readonly compiler: SchemaCompiler;
  readonly recipes: ReadonlyMap<string, Recipe>;
  readonly loader: ModuleLoader;
  /** Undefined: nothing is signed. */
  readonly signingKey: KeyObject | undefined;
  readonly attributor: Attributor;
  /** Servers behind endpoints; undefined: none is configured. */
  readonly mcpServers: DeployedServers | undefined;
  /** Programs that functions of endpoints are in; undefined: none is configured. */
  readonly processes: Pick<DeployedProcesses, "health"> | undefined;
  /** Undefined: bearer tokens are not looked at. */
  readonly tokens: TokenVerifier | undefined;
  /** The deployment that the module is a part of; throws until it is put together. */
  deployment(): AssembledDeployment;
}

/** A deployment that is put together, as its own modules see it. */
export interface AssembledDeployment {
  readonly dispatcher: Dispatcher;
  /** Makes requests in an agent's name. */
  readonly actAs: ActAs;
  readonly registry: EndpointRegistry<Route>;
  /** The routes that DISCOVER /methods lists, the operator's first. */
  readonly listed: readonly RegisteredRoute[];
  /** The routes that QUERY finds though they are not listed. */
  readonly unlisted: readonly RegisteredRoute[];
  /** Contracts that can be called. */
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
  /** Undefined: nothing is sent to people. */
  readonly webhooks: WebhookQueue | undefined;
  /** True if an operator has to approve a call. */
  readonly needsApproval: Approvals["isNeeded"];
  /** Agents elsewhere that endpoints call. */
  upstreamAgents(): readonly UpstreamAgent[];
  /** The operator's, and those that the HTTP listener serves. */
  apis(): readonly ApiEntry[];
  /** The manifest's `document_version`; undefined without one. */
  documentVersion(): Promise<string | undefined>;
}

/** Agents of another system, as that system shows them. */
export interface HostedInventory {
  readonly isEmpty: boolean;
  /** The entry, or why there is none; undefined for a name that is none of that system's. */
  find(name: string, callerId: string | undefined): object | Refusal | undefined;
  /** The pairs that an agent may call here, by its AGTP identity. */
  toolsOf(agent: AgentDocument): readonly string[];
}

/** The contribution of a module to a deployment. */
export interface Contribution {
  /** AGTP endpoints, floor methods included. */
  readonly routes?: readonly Route[];
  /** Routes over HTTP, beside the verbs of the gateway. */
  readonly httpRoutes?: readonly HttpRoute[];
  /** Sources that QUERY finds things in. */
  readonly sources?: readonly QuerySource[];
  /** Kinds of things that CONFIRM decides. */
  readonly confirmables?: readonly Confirmable[];
  /**
   * Problems for which something is left out; whether they stop the start is the operator's choice.
   */
  readonly problems?: readonly Problem[];
  /** Errors among these always stop the start: the configuration itself names what cannot be had. */
  readonly blockers?: readonly Problem[];
  /** The key under which a route is reported whose place another file's endpoint has. */
  readonly routesKey?: string;
  /** Identities of agents that it hosts; one that is known already takes the other's place. */
  readonly agents?: readonly AgentDocument[];
  readonly inspections?: Brought["inspections"];
  readonly revocations?: Brought["revocations"];
  readonly criteria?: FloorMethod;
  /** Features that the manifest names. */
  readonly features?: readonly string[];
  readonly hostedProtocols?: readonly HostedProtocolEntry[];
  readonly inventory?: HostedInventory;
  /** The way to people. */
  readonly webhooks?: WebhookQueue;
  /** Reads the tokens with which peers vouch for agents. */
  readonly delegations?: DelegationReader;
  /** Answers for pairs that are not registered, and for contracts. */
  readonly negotiation?: Negotiation;
  readonly http?: HttpSide;
  readonly console?: ConsoleSide;
  /** Commands of the control socket, by their names. Each throws what the person is told. */
  readonly commands?: ReadonlyMap<string, (options: JsonRecord) => unknown>;
  /** Agents elsewhere that its endpoints call, as they are now. */
  upstreamAgents?(): readonly UpstreamAgent[];
  /** Says which `document_version` the manifest has now. */
  documentVersion?(): Promise<string>;
  /** All is put together and nothing stands in the way: makes what needs the whole, keeps identities. */
  complete?(): Promise<readonly Problem[]>;
  /** Makes what takes long, so that nobody waits for it; awaited before another is replaced. */
  prepare?(): Promise<void>;
  /** This deployment is served from now on. */
  start?(): void;
  /** The ready line is out: begins work that the first request would wait for. */
  warmUp?(): void;
  /** Writes what outlives the process; called with `warmUp`. */
  keep?(): Promise<readonly Problem[]>;
  /** Another is served, or none: ends what its last requests can do without. */
  stop?(): Promise<void>;
  /** The last request is answered. */
  close?(): Promise<void>;
}

/** The parts of the gates about contracts that a module decides. */
export interface Negotiation {
  readonly routes: Pick<ContractRoutes, "bind" | "routeOf">;
  readonly route: Route | undefined;
  /** Undefined: nothing is negotiated. */
  readonly offers: ContractOffers | undefined;
}

/** An agent elsewhere that endpoints call, as operators are shown it; keys are the wire's own. */
export interface UpstreamAgent {
  readonly name: string;
  readonly version: string;
  /** The path that it is served on. */
  readonly base: string;
  /** The address of its server; null for one that cannot be called. */
  readonly url: string | null;
  /**
   * `ready`: its server has it. `unavailable`: it has not, or does not answer. `unchecked`: nobody has
   * looked yet. `declared`: it runs nowhere that is known.
   */
  readonly state: "ready" | "unavailable" | "unchecked" | "declared";
  /** Why it cannot be called. */
  readonly reason?: string;
  readonly dependencies: readonly UpstreamDependency[];
}

/** Another agent that it depends on. */
interface UpstreamDependency {
  readonly name: string;
  readonly status: string;
  readonly reason?: string;
}

/**
 * The routes that make an offer of a contract and end it, for protocols whose clients see one before it is
 * theirs; registered nowhere.
 */
export interface ContractOffers {
  /** PROPOSE, answered with 461 instead of 263: the contract is offered, and nothing is agreed. */
  readonly propose: Route;
  /** The client's decision on an offer: `{synthesis_id, decision}`, one of `OfferDecision`. */
  readonly decide: Route;
}

/** `show`: there is no decision yet, and the offer is shown again. */
export type OfferDecision = "accept" | "decline" | "show";
