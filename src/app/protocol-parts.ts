/** What the protocol's own endpoints are made from, and what a part of the floor is. */
import type { KeyObject } from "node:crypto";
import type { Config } from "../base/config.ts";
import type { Drive } from "../base/paced.ts";
import type { Problem } from "../base/problem.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { MethodNames } from "../catalog/path-grammar.ts";
import type { Confirmable } from "../dispatch/confirmable.ts";
import type { DelegationReader } from "../dispatch/delegation.ts";
import type { InnerEntrance } from "../dispatch/dispatcher.ts";
import type { FloorMethod, FloorOptions } from "../dispatch/floor.ts";
import type { MethodPolicy } from "../dispatch/method-policy.ts";
import type { ProtocolEndpoint } from "../dispatch/protocol-endpoint.ts";
import type { QuerySource } from "../dispatch/query-source.ts";
import type { Route } from "../dispatch/route.ts";
import type { Recipe } from "../endpoint/recipe.ts";
import type { CallLog } from "../handlers/handler.ts";
import type { ModuleLoader } from "../handlers/module-loader.ts";
import type { AgentDirectory } from "../identity/agent-directory.ts";
import type { Inventory } from "../modules/discovery/inventory.ts";
import type { ApiListing } from "../modules/gateway/api-listing.ts";
import type { GatewayFace } from "../modules/gateway/face.ts";
import type { SchemaCompiler } from "../schema/schema.ts";
import type { Attributor } from "../state/attributor.ts";
import type { ServerState } from "../state/state.ts";
import type { AgntcyAgents } from "./agntcy.ts";
import type { FloorState } from "./floor-state.ts";
import type { Negotiation } from "./negotiation.ts";
import type { OpenwopAgents } from "./openwop-agents.ts";

/** What the protocol's own endpoints talk about. */
export interface ProtocolParts {
  readonly config: Config;
  readonly catalog: Catalog;
  readonly names: MethodNames;
  readonly methodPolicy: MethodPolicy;
  readonly directory: AgentDirectory;
  readonly state: ServerState;
  readonly attributor: Attributor;
  /** Undefined: the manifest is unsigned. */
  readonly signingKey: KeyObject | undefined;
  readonly compiler: SchemaCompiler;
  readonly recipes: ReadonlyMap<string, Recipe>;
  readonly operatorRoutes: readonly Route[];
  readonly loader: ModuleLoader;
  /** What is offered over HTTP. */
  readonly apis: ApiListing;
  readonly negotiation: Omit<Negotiation, "gate" | "start">;
  readonly floor: FloorState;
  readonly agntcy: AgntcyAgents;
  readonly openwop: OpenwopAgents;
  readonly log: Pick<CallLog, "info" | "warn">;
  readonly drive: Drive;
}

/** What the parts of the floor are made from. */
export interface FloorParts extends ProtocolParts {
  readonly inventory: Inventory;
  readonly describe: FloorOptions["describe"];
  /** What QUERY looks into beside the inventory; complete once all parts are made. */
  sources(): readonly QuerySource[];
  /** What CONFIRM can be said of; complete once all parts are made. */
  confirmables(): readonly Confirmable[];
}

/** One part: some floor methods that belong together. */
export interface FloorPart {
  readonly methods?: ReadonlyMap<string, FloorMethod>;
  readonly endpoints?: readonly ProtocolEndpoint[];
  readonly sources?: readonly QuerySource[];
  readonly confirmables?: readonly Confirmable[];
  /** What it answers over HTTP, beside the AGTP endpoints; served where the sidecar is. */
  readonly faces?: readonly GatewayFace[];
  readonly problems?: readonly Problem[];
  /** Of files that are not served for them; whether they stop the start is the operator's choice. */
  readonly skipped?: readonly Problem[];
  /** Reads the tokens with which peers vouch for agents. */
  readonly delegations?: DelegationReader | undefined;
  /** Is given the pipeline that it is a part of. */
  join?(entrance: InnerEntrance): void;
  /** Takes up what an earlier process left; called when the deployment is served. */
  start?(): void;
  /** Ends what runs beside the requests; called when another deployment is served, and at the end. */
  close?(): Promise<void>;
}
