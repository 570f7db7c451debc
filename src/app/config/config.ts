/**
 * The loaded configuration, with the sections that layers and modules declare: every key has its
 * default, secrets are resolved, paths are absolute, and the whole is frozen.
 */

import { Ajv2020, type Options, type ValidateFunction } from "ajv/dist/2020.js";
import type { ConfigPlace } from "../../base/deployment-files.ts";
import { type CatalogConfig, catalogSection } from "../../catalog/catalog.ts";
import {
  type ApiEntry,
  apisSection,
  type HostedProtocolEntry,
  hostedProtocolsSection,
} from "../../dispatch/module/listing-sections.ts";
import { type PoliciesConfig, policiesSection } from "../../dispatch/policy/policies-section.ts";
import {
  endpointsSection,
  type FilesConfig,
  recipesSection,
} from "../../endpoint/endpoint-file-schema.ts";
import { type HandlersConfig, handlersSection } from "../../handlers/module-file.ts";
import {
  type ProcessConfig,
  processesSection,
} from "../../handlers/processes/processes-section.ts";
import {
  type AgentsConfig,
  agentsSection,
  type ServerConfig,
  serverSection,
  type TlsConfig,
  tlsSection,
} from "../../identity/identity-sections.ts";
import { type AgentcliConfig, agentcliSection } from "../../modules/agentcli/config.ts";
import { type AgntcyConfig, agntcySection } from "../../modules/agntcy/config.ts";
import { type ConsoleConfig, consoleSection } from "../../modules/console/config.ts";
import {
  type DelegationConfig,
  delegationSection,
  type PeerConfig,
  peersSection,
} from "../../modules/delegation/config.ts";
import {
  type GroupsConfig,
  groupsSection,
  type WebhooksConfig,
  webhooksSection,
} from "../../modules/delivery/config.ts";
import { type GatewayConfig, gatewaySection } from "../../modules/gateway/config.ts";
import { type McpConfig, mcpSection } from "../../modules/mcp/config.ts";
import { type SynthesisConfig, synthesisSection } from "../../modules/negotiation/config.ts";
import { type OpenwopConfig, openwopSection } from "../../modules/openwop/config.ts";
import { type TracingConfig, tracingSection } from "../../modules/tracing/config.ts";
import { optional, type Schema, table } from "../../schema/section-field.ts";
import { type MetricsConfig, metricsSection } from "../../server/metrics-section.ts";
import {
  type AttributionConfig,
  attributionSection,
  type ClusterConfig,
  clusterSection,
  type SigningConfig,
  type StoreConfig,
  signingSection,
  storeSection,
} from "../../state/state-sections.ts";
import { type LimitsConfig, limitsSection } from "../../wire/limits-section.ts";
import { validateConfig } from "./validate-config.ts";

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

/** Reports a problem at a dotted key. */
export type Report = (
  key: string,
  message: string,
  more?: { readonly hint?: string | undefined; readonly severity?: "error" | "warning" },
) => void;

/** A rule that is applied if all of its `sections` are well-formed. */
export interface CrossCheck {
  readonly sections: readonly string[];
  readonly check: (config: Config, report: Report) => void;
}

/** Builds a rule over these sections. */
export function rule(sections: CrossCheck["sections"], check: CrossCheck["check"]): CrossCheck {
  return { sections, check };
}

/**
 * The JSON Schema (2020-12) of agtp-server.toml, in the order of the sample file, with each key's
 * type, default and description. Rules between keys are in the `check-*.ts` files.
 */
export const configSchema: Schema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "agtp-server.toml",
  ...optional(
    table("The configuration of an AGTP server", {
      server: serverSection,
      tls: tlsSection,
      limits: limitsSection,
      catalog: catalogSection,
      endpoints: endpointsSection,
      recipes: recipesSection,
      handlers: handlersSection,
      processes: processesSection,
      agents: agentsSection,
      policies: policiesSection,
      synthesis: synthesisSection,
      signing: signingSection,
      attribution: attributionSection,
      store: storeSection,
      cluster: clusterSection,
      gateway: gatewaySection,
      mcp: mcpSection,
      metrics: metricsSection,
      tracing: tracingSection,
      console: consoleSection,
      webhooks: webhooksSection,
      groups: groupsSection,
      apis: apisSection,
      hosted_protocols: hostedProtocolsSection,
      delegation: delegationSection,
      peers: peersSection,
      openwop: openwopSection,
      agntcy: agntcySection,
      agentcli: agentcliSection,
    }),
  ),
};

let validator: ValidateFunction | undefined;

/** Returns the validator, which also fills in defaults. */
export function configValidator(): ValidateFunction {
  validator ??= validateConfig ?? compileConfigSchema().compile(configSchema);
  return validator;
}

/** Creates an Ajv for the schema; `code` sets its code generation. */
export function compileConfigSchema(code: Options["code"] = {}): Ajv2020 {
  const ajv = new Ajv2020({
    ...{ allErrors: true, useDefaults: true, verbose: true },
    // The schema is the program's own, and its generated code runs rarely.
    ...{ validateSchema: false, code: { optimize: false, ...code } },
  });
  ajv.addVocabulary(["expected", "isPath", "pathParameters"]);
  return ajv;
}
