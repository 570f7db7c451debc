/** Which agents this server knows: the seam that the gates and the DISCOVER built-ins look through. */
import type { AgentDocument } from "./agent-document.ts";
import type { ClientCertificate } from "./client-certificate.ts";

/** The agents of one server. */
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

/** What binds a certificate that has no AGTP extensions. */
export type CertificateKeys = Pick<ClientCertificate, "fingerprint" | "keyFingerprint">;

/** A directory over documents that are already loaded. */
export function createAgentDirectory(documents: readonly AgentDocument[]): AgentDirectory {
  const byId = new Map(documents.map((document) => [document.agentId, document]));
  const byName = new Map(documents.map((document) => [document.name, document]));
  const byCaselessName = groupBy(documents, ({ name }) => name.toLowerCase());
  const findByName = (name: string): AgentDocument | undefined => {
    const exact = byName.get(name);
    if (exact !== undefined) return exact;
    const [agent, ...others] = byCaselessName.get(name.toLowerCase()) ?? [];
    return others.length === 0 ? agent : undefined;
  };
  const byCertificate = groupBy(documents, ({ certFingerprint }) => certFingerprint);
  const byKey = groupBy(documents, ({ genesis }) => genesis?.agentKey?.fingerprint);
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

function groupBy(
  documents: readonly AgentDocument[],
  keyOf: (document: AgentDocument) => string | undefined,
): ReadonlyMap<string, readonly AgentDocument[]> {
  const groups = new Map<string, AgentDocument[]>();
  for (const document of documents) {
    const key = keyOf(document);
    if (key === undefined) continue;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [document]);
    else group.push(document);
  }
  return groups;
}
