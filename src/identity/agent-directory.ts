/** The interface through which gates and DISCOVER built-ins look up the agents that this server knows. */
import { addUnder } from "../base/listed.ts";
import type { Paced } from "../base/paced.ts";
import type { AgentDocument } from "./agent-document.ts";
import type { ClientCertificate } from "./client-certificate.ts";

export interface AgentDirectory {
  /** Finds an agent by canonical Agent-ID. */
  find(agentId: string): AgentDocument | undefined;
  /**
   * Finds an agent by the name in its document; if no name matches exactly, case is ignored, unless
   * several then match.
   */
  findByName(name: string): AgentDocument | undefined;
  /** Finds an agent by either; an Agent-ID takes precedence over a name. */
  resolve(nameOrAgentId: string): AgentDocument | undefined;
  /**
   * The one agent that a plain certificate belongs to: its document names the certificate, or its
   * Genesis the certificate's key. Undefined if there is none, or more than one.
   */
  findByCertificate(certificate: CertificateKeys): AgentDocument | undefined;
  /** Lists the agents in a stable order. */
  list(): readonly AgentDocument[];
}

/** The fingerprints that bind a certificate without AGTP extensions to an agent. */
type CertificateKeys = Pick<ClientCertificate, "fingerprint" | "keyFingerprint">;

/** Creates a directory; each document is one step. */
export function* creatingAgentDirectory(
  documents: readonly AgentDocument[],
): Paced<AgentDirectory> {
  const byId = new Map<string, AgentDocument>();
  const byName = new Map<string, AgentDocument>();
  for (const document of documents) {
    byId.set(document.agentId, document);
    byName.set(document.name, document);
    yield;
  }
  const byCaselessName = yield* groupBy(documents, ({ name }) => name.toLowerCase());
  const findByName = (name: string): AgentDocument | undefined => {
    const exact = byName.get(name);
    if (exact !== undefined) return exact;
    const [agent, ...others] = byCaselessName.get(name.toLowerCase()) ?? [];
    return others.length === 0 ? agent : undefined;
  };
  const byCertificate = yield* groupBy(documents, ({ certFingerprint }) => certFingerprint);
  const byKey = yield* groupBy(documents, ({ genesis }) => genesis?.agentKey?.fingerprint);
  return {
    find: (agentId) => byId.get(agentId),
    findByName,
    resolve: (nameOrAgentId) => byId.get(nameOrAgentId) ?? findByName(nameOrAgentId),
    findByCertificate: ({ fingerprint, keyFingerprint }) => {
      const named = byCertificate.get(fingerprint) ?? [];
      const [agent, ...others] = new Set([...named, ...(byKey.get(keyFingerprint) ?? [])]);
      return others.length === 0 ? agent : undefined;
    },
    list: () => documents,
  };
}

function* groupBy(
  documents: readonly AgentDocument[],
  keyOf: (document: AgentDocument) => string | undefined,
): Paced<ReadonlyMap<string, readonly AgentDocument[]>> {
  const groups = new Map<string, AgentDocument[]>();
  for (const document of documents) {
    yield;
    const key = keyOf(document);
    if (key !== undefined) addUnder(groups, key, document);
  }
  return groups;
}
