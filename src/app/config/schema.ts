/**
 * Everything that may stand in agtp-server.toml: one JSON Schema (2020-12), of the sections that the
 * layers and the modules declare, in the order of the sample file. It gives each key its form, its
 * default and its meaning. Rules between keys are in the `check-*.ts` files.
 */
import { catalogSection } from "../../catalog/catalog-section.ts";
import { apisSection, hostedProtocolsSection } from "../../dispatch/module/listing-sections.ts";
import { policiesSection } from "../../dispatch/policy/policies-section.ts";
import { endpointsSection, recipesSection } from "../../endpoint/file-sections.ts";
import { processesSection } from "../../handlers/processes/processes-section.ts";
import { handlersSection } from "../../handlers/registered-function.ts";
import { agentsSection } from "../../identity/agents-section.ts";
import { serverSection } from "../../identity/server-section.ts";
import { tlsSection } from "../../identity/tls-section.ts";
import { agentcliSection } from "../../modules/agentcli/config.ts";
import { agntcySection } from "../../modules/agntcy/config.ts";
import { consoleSection } from "../../modules/console/config.ts";
import { delegationSection, peersSection } from "../../modules/delegation/config.ts";
import { groupsSection, webhooksSection } from "../../modules/delivery/config.ts";
import { gatewaySection } from "../../modules/gateway/config.ts";
import { mcpSection } from "../../modules/mcp/config.ts";
import { synthesisSection } from "../../modules/negotiation/config.ts";
import { openwopSection } from "../../modules/openwop/config.ts";
import { tracingSection } from "../../modules/tracing/config.ts";
import { optional, type Schema, table } from "../../schema/section-field.ts";
import { metricsSection } from "../../server/metrics-section.ts";
import {
  attributionSection,
  clusterSection,
  signingSection,
  storeSection,
} from "../../state/state-sections.ts";
import { limitsSection } from "../../wire/limits-section.ts";

/** The schema of the whole file. */
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
