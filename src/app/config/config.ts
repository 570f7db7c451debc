/**
 * A configuration after loading, of the sections that the layers and the modules declare: every key
 * present with its default, secrets resolved, paths absolute, frozen.
 */
import type { ConfigPlace } from "../../base/deployment-files.ts";
import type { CatalogConfig } from "../../catalog/catalog.ts";
import type { ApiEntry, HostedProtocolEntry } from "../../dispatch/module/listing-sections.ts";
import type { PoliciesConfig } from "../../dispatch/policy/policies-config.ts";
import type { FilesConfig } from "../../endpoint/endpoint-file-schema.ts";
import type { HandlersConfig } from "../../handlers/module-file.ts";
import type { ProcessConfig } from "../../handlers/processes/processes-section.ts";
import type { AgentsConfig, ServerConfig, TlsConfig } from "../../identity/identity-sections.ts";
import type { AgentcliConfig } from "../../modules/agentcli/config.ts";
import type { AgntcyConfig } from "../../modules/agntcy/config.ts";
import type { ConsoleConfig } from "../../modules/console/config.ts";
import type { DelegationConfig, PeerConfig } from "../../modules/delegation/config.ts";
import type { GroupsConfig, WebhooksConfig } from "../../modules/delivery/config.ts";
import type { GatewayConfig } from "../../modules/gateway/config.ts";
import type { McpConfig } from "../../modules/mcp/config.ts";
import type { SynthesisConfig } from "../../modules/negotiation/config.ts";
import type { OpenwopConfig } from "../../modules/openwop/config.ts";
import type { TracingConfig } from "../../modules/tracing/config.ts";
import type { MetricsConfig } from "../../server/metrics-section.ts";
import type {
  AttributionConfig,
  ClusterConfig,
  SigningConfig,
  StoreConfig,
} from "../../state/state-sections.ts";
import type { LimitsConfig } from "../../wire/limits-section.ts";

/** A whole configuration. */
export interface Config extends ConfigPlace {
  readonly server: ServerConfig;
  readonly tls: TlsConfig;
  readonly limits: LimitsConfig;
  readonly catalog: CatalogConfig;
  readonly endpoints: FilesConfig;
  readonly recipes: FilesConfig;
  readonly handlers: HandlersConfig;
  readonly processes: readonly ProcessConfig[];
  readonly agents: AgentsConfig;
  readonly policies: PoliciesConfig;
  readonly synthesis: SynthesisConfig;
  readonly signing: SigningConfig;
  readonly attribution: AttributionConfig;
  readonly store: StoreConfig;
  readonly cluster: ClusterConfig;
  readonly gateway: GatewayConfig;
  readonly mcp: McpConfig;
  readonly metrics: MetricsConfig;
  readonly tracing: TracingConfig;
  readonly console: ConsoleConfig;
  readonly webhooks: WebhooksConfig;
  readonly groups: GroupsConfig;
  readonly delegation: DelegationConfig;
  readonly peers: readonly PeerConfig[];
  readonly apis: readonly ApiEntry[];
  readonly hostedProtocols: readonly HostedProtocolEntry[];
  readonly openwop: OpenwopConfig;
  readonly agntcy: readonly AgntcyConfig[];
  readonly agentcli: AgentcliConfig;
}

/** Notes a problem at a dotted key. */
export type Report = (
  key: string,
  message: string,
  more?: { readonly hint?: string; readonly severity?: "error" | "warning" },
) => void;

/** A rule over a configuration whose `sections` are well-formed. */
export interface CrossCheck {
  readonly sections: readonly string[];
  readonly check: (config: Config, report: Report) => void;
}
