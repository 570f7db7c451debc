/**
 * The OpenWOP agents of a deployment: loads their packs, issues their identities, and creates their executor.   OpenWOP
 * RFC 0070, RFC 0072
 */
import { basename } from "node:path";
import type { Environment } from "../../base/environment.ts";
import { memberOf } from "../../base/json-value.ts";
import { mapPaced, type Paced } from "../../base/paced.ts";
import type { Problem } from "../../base/problem.ts";
import { createRedactor, type KnownSecret, type Redactor } from "../../base/redaction.ts";
import { actingCaller } from "../../dispatch/handling/acting.ts";
import { findInactive, identifyAgents } from "../../dispatch/module/hosted-agents.ts";
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import type { HostedAgent } from "../../state/registers/hosted-identity.ts";
import { type AgentCatalog, createCatalog } from "./agent-catalog.ts";
import type { AgentExecutor } from "./agent-executor.ts";
import type { OpenwopConfig, OpenwopContext, OpenwopSections } from "./config.ts";
import { findTableMistakes, findToolMistakes } from "./find-mistakes.ts";
import { type AgentRegistry, createAgentRegistry, type InstalledAgent } from "./installed-agent.ts";
import { readingPacks } from "./packs/load-packs.ts";
import { loadAgentRuntime } from "./runtime/load-runtime.ts";
import type { OpenwopState } from "./state.ts";
import { createExecutor } from "./turn/executor.ts";
import type { ToolHost } from "./turn/tool-calls.ts";

/** The agents, and the parts that their runs and endpoints need. */
export interface OpenwopAgents {
  readonly registry: AgentRegistry;
  readonly catalog: AgentCatalog;
  readonly executor: AgentExecutor;
  readonly redactor: Redactor;
  /** The identities that this server issued, except those of other tenants. */
  readonly documents: readonly AgentDocument[];
  /** The AGTP identity of an agent. */
  documentOf(agent: InstalledAgent): AgentDocument | undefined;
  /** The Agent-ID of a tenant's agent; undefined if it has none here. */
  agtpIdOf(agentId: string, tenant: string): string | undefined;
  readonly problems: readonly Problem[];
  /** Files or keys that the configuration names and that cannot be loaded. */
  readonly blockers: readonly Problem[];
  /** Stores new identities; must be awaited before serving. */
  keep(): Promise<void>;
  /** Finds tools that name no served endpoint. */
  findLostTools(): readonly Problem[];
  close(): Promise<void>;
}

/** Loads the agents of all packs without writing to the store. */
export async function hostAgents(
  context: OpenwopContext,
  { authority, toolRates }: OpenwopState,
): Promise<OpenwopAgents> {
  const { config, env, routes, deployment, log, drive } = context;
  const { openwop: settings } = config;
  const packs = await drive(readingPacks(config));
  const registry = createAgentRegistry(packs.packs);
  const redactor = createRedactor(await drive(collectingSecrets(config, env, routes)));
  const hosted = hostedAgents(registry, settings, redactor);
  const identities = await identifyAgents(hosted, context);
  const documentOf = (agent: InstalledAgent): AgentDocument | undefined =>
    identities.documents.get(keyOf(agent));
  const runtime = await loadAgentRuntime(settings, { ...context, redactor });
  const { maxToolCalls, timeoutSeconds } = settings.runtime;
  const executor = createExecutor({
    ...{ registry, runtime: runtime.runtime, redactor, documentOf },
    reasoning: settings.reasoning,
    ...{ turnTimeoutMs: timeoutSeconds * 1000, maxToolCalls },
    host: ownEndpoints(context),
    takeRate: (principal, toolName) => toolRates.take(principal, toolName),
    authority,
    findInactive: (document) => findInactive(context.state, document),
    onOddConfidence: (agentId, stated) => {
      const fields = { event: "agent-confidence-out-of-range", agent_id: agentId, stated };
      log.warn(fields, "an agent's confidence is no number from 0 to 1, and counts as 0");
    },
  });
  const own = new Set(registry.list(settings.tenant).map(documentOf));
  return {
    ...{ registry, executor, redactor, documentOf },
    agtpIdOf: (agentId, tenant) => {
      const agent = registry.find(agentId, tenant);
      return agent && documentOf(agent)?.agentId;
    },
    catalog: createCatalog(registry, redactor),
    documents: identities.issued.filter((document) => own.has(document)),
    problems: [
      ...[...packs.problems, ...identities.problems],
      ...findTableMistakes(settings, registry.all, basename(config.file)),
    ],
    blockers: [...packs.blockers, ...runtime.problems],
    keep: () => identities.keep(),
    findLostTools: () =>
      findToolMistakes(
        packs.packs,
        (method, path) => deployment().registry.find(method, path) !== undefined,
      ),
    close: () => runtime.runtime.close(),
  };
}

function hostedAgents(
  registry: AgentRegistry,
  settings: OpenwopConfig,
  redactor: Redactor,
): readonly HostedAgent[] {
  return registry.all.map((agent) => {
    const { agentId, pack, persona, description } = agent;
    return {
      key: keyOf(agent),
      name: pack.tenant === undefined ? agentId : `${pack.tenant}/${agentId}`,
      description: redactor.text(description || persona),
      scopes: grantsOf(settings, agentId),
      file: pack.file,
    };
  });
}

/** The scopes that the operator grants to an agent's tool calls. */
export function grantsOf({ agents }: OpenwopConfig, agentId: string): readonly string[] {
  return memberOf(agents, agentId)?.scopes ?? [];
}

/** The owner of an agent's identity. */
function keyOf({ agentId, pack: { tenant } }: InstalledAgent): string {
  return tenant === undefined ? `openwop/${agentId}` : `openwop/${agentId}@${tenant}`;
}

/** Offers this server's endpoints as tools, called through the pipeline of the agents' own deployment. */
function ownEndpoints({ deployment }: Pick<OpenwopContext, "deployment">): ToolHost {
  return {
    findEndpoint: (method, path) => deployment().registry.find(method, path)?.entry.definition,
    call: ({ agent, scopes, path: target, ...asked }) =>
      deployment().actAs({ caller: actingCaller(agent, scopes), target, ...asked }),
  };
}

const SECRET_VARIABLE =
  /(?:^|_)(?:API_?KEY|ACCESS_KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)(?:_|$)/i;
/** Strips the scheme from a credential field: the secret follows it. */
const SCHEME = /^(?:Bearer|Basic|Token|ApiKey)\s+/i;
const SECRET_FIELD = /authorization|cookie|key|token|secret|password/i;
/** Paths to files are shown in many places, so they are not treated as secrets. */
const PATH = /^[./~]/;

/**
 * Collects the secrets that this server knows, each with a name to show in its place: credentials in the configuration,
 * in upstream header fields of endpoints, and in environment variables with such names. Environment variables come
 * first, since operators know a secret by that name.   OpenWOP SR-1
 */
export function* collectingSecrets(
  config: OpenwopSections,
  env: Environment,
  endpoints: Iterable<{ readonly definition: EndpointDefinition }>,
): Paced<readonly KnownSecret[]> {
  const known = [...environmentSecrets(env), ...fromConfig(config)];
  yield* mapPaced(endpoints, ({ definition }) => known.push(...fromEndpoint(definition)));
  return known;
}

/** The secrets among environment variables. */
export function environmentSecrets(env: Environment): readonly KnownSecret[] {
  return Object.entries(env).flatMap(([name, value]) =>
    value !== undefined && isSecret(name, value) ? [{ name, value }] : [],
  );
}

/** Shorter values may be plain words: `TOKEN_MODE=header`. */
function isSecret(name: string, value: string): boolean {
  return value.length >= 8 && SECRET_VARIABLE.test(name) && !PATH.test(value);
}

function fromConfig({ webhooks, store, openwop }: OpenwopSections): readonly KnownSecret[] {
  return [
    ...named("webhooks.secret", webhooks.secret),
    ...named("openwop.runtime.api_key", openwop.runtime.apiKey),
    ...named("store.url", passwordOf(store.url)),
  ];
}

function passwordOf(url: string | undefined): string | undefined {
  return url === undefined || !URL.canParse(url) ? undefined : new URL(url).password;
}

function fromEndpoint({ method, path, handler }: EndpointDefinition): readonly KnownSecret[] {
  if (handler.type !== "external_service") return [];
  return Object.entries(handler.headers).flatMap(([field, value]) =>
    SECRET_FIELD.test(field) ? named(`${method} ${path} ${field}`, value.replace(SCHEME, "")) : [],
  );
}

function named(name: string, value: string | undefined): readonly KnownSecret[] {
  return value !== undefined && value !== "" ? [{ name, value }] : [];
}
