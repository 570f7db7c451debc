/** The agents that this server knows: the seam that gates and DISCOVER built-ins look through. */
import { addUnder } from "../base/listed.ts";
import type { Paced } from "../base/paced.ts";
import type { AgentDocument } from "./agent-document.ts";
import type { ClientCertificate } from "./client-certificate.ts";

export interface AgentDirectory {
  /** By canonical Agent-ID. */
  find(agentId: string): AgentDocument | undefined;
  /** By the name in the identity document, in whatever case unless two names differ in it alone. */
  findByName(name: string): AgentDocument | undefined;
  /** By either; an Agent-ID comes before an agent of that name. */
  resolve(nameOrAgentId: string): AgentDocument | undefined;
  /**
   * The one agent that a plain certificate belongs to: its document names the certificate, or its
   * Genesis the certificate's key. Undefined when there are several.
   */
  findByCertificate(certificate: CertificateKeys): AgentDocument | undefined;
  /** In a stable order. */
  list(): readonly AgentDocument[];
}

/** Binds a certificate that has no AGTP extensions. */
type CertificateKeys = Pick<ClientCertificate, "fingerprint" | "keyFingerprint">;

/** Makes a directory, a document a step. */
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
