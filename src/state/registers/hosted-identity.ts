/**
 * Identities of the agents that this server hosts, from any system, and of the agent that its HTTP sidecar acts as.
 * An agent without one from the operator is issued a Genesis, once, and it is stored: the agent keeps its Agent-ID
 * as long as the store exists. Its identity document is rewritten at every start, since description and scopes may
 * change.   AGTP "Agent Genesis", "Identity"
 */
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import type { JsonRecord } from "../../base/json-value.ts";
import type { Drive, Paced } from "../../base/paced.ts";
import { isError, type Problem } from "../../base/problem.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import { readAgentFile } from "../../identity/agent-file.ts";
import { publicKeyOf, readPublicKey } from "../../identity/ed25519.ts";
import { readGenesisFile } from "../../identity/genesis.ts";
import { isOwnerId } from "../../identity/identifiers.ts";
import {
  type DocumentOptions,
  describeAgent,
  issueGenesis,
  signDocument,
  USUAL_ZONE,
} from "../../identity/issue.ts";
import { Collection } from "../collection.ts";
import { recordReader } from "../records/stored-record.ts";
import type { Store } from "../store.ts";

export interface HostedAgent {
  /** Such as `openwop/vendor.acme.clerk`; the permanent owner of the identity. */
  readonly key: string;
  /** An operator's agent of this name provides the identity. */
  readonly name: string;
  readonly description: string;
  readonly scopes: readonly string[];
  /** A Genesis issued before; a stored one takes precedence. */
  readonly genesis?: JsonRecord;
  /** The file to name in problems, relative to the deployment directory. */
  readonly file: string;
}

/** The server that issues identities. */
export interface HostIssuer {
  readonly serverId: string;
  readonly operator: string | undefined;
  /** Undefined: each Genesis is signed with a throw-away key, and documents are not signed. */
  readonly signingKey: KeyObject | undefined;
}

/** The identities, and a function that stores the new ones. */
export interface HostedIdentities {
  /** By the agent's key. */
  readonly documents: ReadonlyMap<string, AgentDocument>;
  /** Identities issued by this server rather than given by the operator. */
  readonly issued: readonly AgentDocument[];
  readonly problems: readonly Problem[];
  /** Stores new identities; must be called before any of them is shown. */
  keep(): Promise<void>;
}

/** The sources of identities, and their store. */
interface IdentityPlaces {
  /** Opens the stored identities; called only if there is an agent. */
  openKept(): Promise<Collection<JsonRecord>>;
  /** The identities that are known already. */
  readonly known: readonly AgentDocument[];
  readonly drive: Drive;
}

/** Opens the stored identities; call it once per process, since the collection follows changes from then on. */
export function openHostedIdentities(store: Store): Promise<Collection<JsonRecord>> {
  return Collection.open(store, {
    name: "hosted-identities",
    read: recordReader<JsonRecord>({}),
  });
}

/**
 * Finds or issues the identities, without storing any. Among known identities, the operator's serve the agents of
 * their names; one issued for another agent is reserved for that agent.
 */
export async function identifyHosted(
  agents: readonly HostedAgent[],
  issuer: HostIssuer,
  { openKept, known, drive }: IdentityPlaces,
): Promise<HostedIdentities> {
  if (agents.length === 0) return NOBODY;
  return drive(identifying(agents, issuer, known, await openKept()));
}

const NOBODY: HostedIdentities = {
  ...{ documents: new Map(), issued: [], problems: [] },
  keep: () => Promise.resolve(),
};

/** Handles one agent per step, as its identity may have to be signed. */
function* identifying(
  agents: readonly HostedAgent[],
  issuer: HostIssuer,
  known: readonly AgentDocument[],
  kept: Collection<JsonRecord>,
): Paced<HostedIdentities> {
  const named = new Map(known.map((document) => [document.name, document]));
  const documents = new Map<string, AgentDocument>();
  const issued: AgentDocument[] = [];
  const fresh = new Map<string, JsonRecord>();
  const problems: Problem[] = [];
  const taken = new Set(named.keys());
  for (const agent of agents) {
    yield;
    const own = named.get(agent.name);
    if (own !== undefined && own.issuedFor === undefined) {
      documents.set(agent.key, own);
      continue;
    }
    const earlier = kept.get(agent.key);
    const genesis = earlier ?? agent.genesis ?? issue(agent, issuer);
    const { document, problems: found } = taken.has(agent.name)
      ? { document: undefined, problems: [nameTaken(agent)] }
      : readIdentity(agent, genesis, issuer);
    problems.push(...found);
    if (document === undefined) continue;
    taken.add(agent.name);
    documents.set(agent.key, document);
    issued.push(document);
    if (earlier === undefined) fresh.set(agent.key, genesis);
  }
  const keep = async (): Promise<void> => {
    await kept.putAll(() => {
      for (const key of fresh.keys()) if (kept.get(key) !== undefined) throw issuedTwice(key);
      return fresh;
    });
    fresh.clear();
  };
  return { documents, issued, problems, keep };
}

/** Another process issued the identity first, and the stored one counts. */
function issuedTwice(key: string): Error {
  return new Error(`another server has issued an identity for "${key}" meanwhile: start again`);
}

function nameTaken({ file, name }: HostedAgent): Problem {
  return { file, key: "", message: `another hosted agent is called "${name}" already` };
}

function issue(agent: HostedAgent, issuer: HostIssuer): JsonRecord {
  const issuerKey = issuer.signingKey ?? generateKeyPairSync("ed25519").privateKey;
  return issueGenesis({ ...documentOptions(agent, issuer), issuerKey }).genesis;
}

/** Checks a stored identity like one from a file. */
function readIdentity(
  agent: HostedAgent,
  genesis: JsonRecord,
  issuer: HostIssuer,
): { readonly document: AgentDocument | undefined; readonly problems: readonly Problem[] } {
  const { file } = agent;
  // Trusts the key that signed it then, since this server issued it.
  const then = readPublicKey(textOf(genesis["issuer_public_key"], ""));
  const now = issuer.signingKey && publicKeyOf(issuer.signingKey);
  const trusted = [then, now].filter((key) => key !== undefined);
  const born = readGenesisFile(JSON.stringify(genesis), file, trusted);
  if (born.genesis === undefined) return { document: undefined, problems: born.problems };
  const { ownerId, governanceZone, ...others } = documentOptions(agent, issuer);
  // Fixed when it was issued, even if the server has been renamed.
  const options = {
    ...others,
    ownerId: textOf(genesis["owner_id"], ownerId),
    governanceZone: textOf(genesis["governance_zone"], governanceZone),
  };
  const unsigned = describeAgent(options, genesis, born.genesis.agentId);
  const written =
    issuer.signingKey === undefined
      ? unsigned
      : signDocument(unsigned, issuer.signingKey, options.issuer);
  const context = { genesis: born.genesis, trustedIssuers: trusted };
  const { document, problems } = readAgentFile(JSON.stringify(written), file, context);
  return {
    document: document && { ...document, issuedFor: agent.key },
    problems: problems.filter(isError),
  };
}

function textOf(value: unknown, otherwise: string): string {
  return typeof value === "string" ? value : otherwise;
}

function documentOptions(agent: HostedAgent, { serverId, operator }: HostIssuer): DocumentOptions {
  const ownerId = `server:${serverId}`;
  return {
    name: agent.name,
    description: agent.description,
    ownerId: isOwnerId(ownerId) ? ownerId : "server:local",
    governanceZone: USUAL_ZONE,
    scopes: agent.scopes,
    issuer: `agtp://${serverId}`,
    principal: operator ?? serverId,
    principalId: serverId,
  };
}
