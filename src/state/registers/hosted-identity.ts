/**
 * The identities of the agents that this server hosts, whatever system they come from, and of the one that its
 * HTTP sidecar speaks as. Where the operator gives an agent none, the server issues a Genesis for it, once, and
 * keeps it: the agent has the same Agent-ID for as long as the store lasts. Its identity document is written
 * anew at every start, since a description and scopes may change.   AGTP "Agent Genesis", "Identity"
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
  /** Such as `openwop/vendor.acme.clerk`: what the identity belongs to, for good. */
  readonly key: string;
  /** An agent of the operator's that has this name is this agent. */
  readonly name: string;
  readonly description: string;
  readonly scopes: readonly string[];
  /** Was issued for it already; what the store has comes first. */
  readonly genesis?: JsonRecord;
  /** The file that problems are reported for, relative to the deployment directory. */
  readonly file: string;
}

/** The server that issues identities. */
export interface HostIssuer {
  readonly serverId: string;
  readonly operator: string | undefined;
  /**
   * Undefined: each Genesis is signed with a key of its own that nobody keeps, and the documents are
   * not signed.
   */
  readonly signingKey: KeyObject | undefined;
}

/** The identities, and what keeping the new ones takes. */
export interface HostedIdentities {
  /** By the agent's key. */
  readonly documents: ReadonlyMap<string, AgentDocument>;
  /** The identities that are not among the operator's own. */
  readonly issued: readonly AgentDocument[];
  readonly problems: readonly Problem[];
  /** To be called before anybody sees one of them. */
  keep(): Promise<void>;
}

/** Where identities are looked for and kept. */
interface IdentityPlaces {
  /** Opens those that were issued; called where there is an agent. */
  openKept(): Promise<Collection<JsonRecord>>;
  /** The identities that are known already. */
  readonly known: readonly AgentDocument[];
  readonly drive: Drive;
}

/** Opens the identities that were issued over a store; once a process, since a collection hears of changes from then on. */
export function openHostedIdentities(store: Store): Promise<Collection<JsonRecord>> {
  return Collection.open(store, {
    name: "hosted-identities",
    read: recordReader<JsonRecord>({}),
  });
}

/**
 * Finds or issues them; writes nothing. Of those that are known already, the operator's stand for the
 * agents they name; one that was issued for another agent is that one's alone.
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

/** An agent a step: its identity may have to be signed. */
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

/** Another process has the store too: which of the two identities holds is decided already. */
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

/** Checks an identity out of the store like one out of a file. */
function readIdentity(
  agent: HostedAgent,
  genesis: JsonRecord,
  issuer: HostIssuer,
): { readonly document: AgentDocument | undefined; readonly problems: readonly Problem[] } {
  const { file } = agent;
  // This server has issued it, whatever its key was then.
  const then = readPublicKey(textOf(genesis["issuer_public_key"], ""));
  const now = issuer.signingKey && publicKeyOf(issuer.signingKey);
  const trusted = [then, now].filter((key) => key !== undefined);
  const born = readGenesisFile(JSON.stringify(genesis), file, trusted);
  if (born.genesis === undefined) return { document: undefined, problems: born.problems };
  const { ownerId, governanceZone, ...others } = documentOptions(agent, issuer);
  // Settled when it was issued, though the server may have another name by now.
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
