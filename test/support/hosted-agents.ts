/**
 * A deployment that hosts three agents: alice, whom the issuer of the test issued; bob, whom somebody
 * else did; and carol, who has no Genesis. And the certificates that they and others present.
 */
import type { Peer } from "../../src/dispatch/caller/peer.ts";
import type { AgentExtensions, ClientCertificate } from "../../src/identity/client-certificate.ts";
import { configFile, type DeploymentFiles, ECHO_MODULE, endpointFile } from "./deployment.ts";
import {
  agentIdOf,
  DOCUMENT,
  DRAFT,
  ISSUER,
  type Members,
  STRANGER,
  signGenesis,
  type TestKey,
} from "./genesis.ts";
import { sha256 } from "./records.ts";

const ALICE_GENESIS = signGenesis(DRAFT);
const BOB_GENESIS = signGenesis(
  { ...DRAFT, owner: "other.example", issuer_public_key: STRANGER.text },
  STRANGER,
);

export const ALICE: string = agentIdOf(ALICE_GENESIS);
export const BOB: string = agentIdOf(BOB_GENESIS);
export const CAROL: string = "c".repeat(64);
export const UNKNOWN: string = "e".repeat(64);

const SCOPES = ["booking:*", "documents:read"];

function document(name: string, agentId: string, changes: Members = {}): string {
  return JSON.stringify({
    ...{ ...DOCUMENT, agent_id: agentId, name, scopes_accepted: SCOPES },
    ...changes,
  });
}

const scoped = {
  ...{ method: "BOOK", path: "/rooms", required_scopes: ["booking:room"] },
  ...{ properties: { note: { type: "string" } } },
};

/** The files of the deployment; `identity` is `[policies.identity]`. */
export function hostedFiles(
  identity: object = {},
  tables: Readonly<Record<string, object>> = {},
  files: DeploymentFiles = {},
): DeploymentFiles {
  const { policies = {}, ...others } = tables;
  const trusted = { trusted_issuers: [ISSUER.text, STRANGER.text], ...identity };
  return {
    "agtp-server.toml": configFile({ policies: { identity: trusted, ...policies }, ...others }),
    "handlers.mjs": ECHO_MODULE,
    "endpoints/rooms.toml": endpointFile(scoped),
    "endpoints/lists.toml": endpointFile({ method: "QUERY", path: "/lists" }),
    "agents/alice.agent.json": document("alice", ALICE),
    "agents/alice.genesis.json": JSON.stringify(ALICE_GENESIS),
    "agents/bob.agent.json": document("bob", BOB),
    "agents/bob.genesis.json": JSON.stringify(BOB_GENESIS),
    "agents/carol.agent.json": document("carol", CAROL),
    ...files,
  };
}

/** What a test says of a certificate; without `agent` it is a plain one. */
interface CertificateFacts {
  readonly key?: TestKey;
  readonly serialNumber?: string;
  readonly notAfter?: number;
  readonly agent?: Partial<AgentExtensions>;
}

/** A verified certificate, as the listener hands it over. */
export function makeCertificate(facts: CertificateFacts = {}): ClientCertificate {
  const { key, serialNumber = "1f", notAfter = Date.now() + 86_400_000, agent } = facts;
  const name = key?.text ?? "somebody's key";
  return {
    serialNumber,
    fingerprint: sha256(`${name} ${serialNumber}`),
    keyFingerprint: key?.publicKey.fingerprint ?? sha256(name),
    spkiFingerprint: sha256(`spki ${name}`),
    notAfter,
    agent: agent && {
      ...{ agentId: ALICE, ownerId: undefined, scopes: undefined, governanceZone: undefined },
      ...{ trustTier: undefined, archetype: undefined },
      ...agent,
    },
  };
}

/** The other end of a connection with a certificate. */
export function peerWith(facts: CertificateFacts = {}): Pick<Peer, "certificate"> {
  return { certificate: makeCertificate(facts) };
}

/** The issuer of alice, by the key alone. */
export const ISSUER_PEER: Pick<Peer, "certificate"> = peerWith({ key: ISSUER });
