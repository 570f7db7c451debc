/** Chains of records, as they are signed: a page checks them itself, and need not trust this server. */
import { isRecord } from "../../../base/json-value.ts";
import type { Ed25519PublicKey } from "../../../identity/ed25519.ts";
import { decodeJws, keyId } from "../../../identity/jws.ts";
import type { Ledger } from "../../../state/records/ledger.ts";
import { NO_AUDIT_ID } from "../../../state/records/record.ts";
import { serverChainId } from "../../../state/records/server-chain.ts";
import type { ApiRequest, ApiRoute } from "../console-api.ts";
import { malformed } from "../console-fault.ts";

/** The sources of these routes. */
export interface RecordParts {
  readonly state: {
    readonly ledger: Pick<Ledger, "currentHeadOf" | "currentHeadsOf" | "openReader" | "whereCut">;
  };
  /** Agents that may have a chain; null for a name that nobody knows. */
  readonly directory: {
    list(): readonly { readonly agentId: string; readonly name: string | null }[];
  };
  /** Whose own chain is shown beside those of agents. */
  readonly serverId: string;
  /** Undefined: records are not signed. */
  readonly publicKey: Ed25519PublicKey | undefined;
}

const PAGE = 200;
const MAX_PAGE = 1_000;
const AUDIT_ID = /^[0-9a-f]{64}$/;

/** `GET /api/records`, `/api/records/{agent_id}` and `/api/keys` */
export function recordRoutes(parts: RecordParts): readonly ApiRoute[] {
  return [
    { method: "GET", path: "/records", answer: async () => ({ chains: await chainsOf(parts) }) },
    {
      method: "GET",
      path: "/records/:id",
      answer: ({ params, query }) => walk(parts, params["id"] ?? "", query),
    },
    { method: "GET", path: "/keys", answer: () => ({ keys: keysOf(parts) }) },
  ];
}

/** Everybody who may have a chain, the server first. */
function holdersOf({ directory, serverId }: RecordParts): ReturnType<typeof directory.list> {
  const server = { agentId: serverChainId(serverId), name: `${serverId} (this server)` };
  return [server, ...directory.list().filter(({ agentId }) => agentId !== server.agentId)];
}

async function chainsOf(parts: RecordParts): Promise<readonly object[]> {
  const holders = holdersOf(parts);
  const heads = await parts.state.ledger.currentHeadsOf(holders.map(({ agentId }) => agentId));
  return holders.flatMap(({ agentId, name }) => {
    const head = heads.get(agentId);
    if (head === undefined) return [];
    const { auditId, at } = head;
    return [{ agent_id: agentId, name, audit_id: auditId, last_at: new Date(at).toISOString() }];
  });
}

/** From the head or a named record backwards, as each record says which one came before it. */
async function walk(
  parts: RecordParts,
  agentId: string,
  query: ApiRequest["query"],
): Promise<object> {
  const { ledger } = parts.state;
  const head = (await ledger.currentHeadOf(agentId))?.auditId ?? null;
  const records: { readonly audit_id: string; readonly jws: string }[] = [];
  const name = holdersOf(parts).find((one) => one.agentId === agentId)?.name ?? null;
  let next = startOf(query) ?? head;
  const most = countIn(query);
  const reader = ledger.openReader();
  while (next !== null && records.length < most) {
    const jws = await reader.find(next);
    if (jws === undefined) {
      const where = await ledger.whereCut(next);
      if (where !== undefined) {
        const cut = { audit_id: next, is_archived: where.isArchived, through: where.through };
        return { agent_id: agentId, name, head, records, next: null, cut };
      }
      const broken = { audit_id: next, reason: "the record is not in the journal" };
      return { agent_id: agentId, name, head, records, next: null, broken };
    }
    records.push({ audit_id: next, jws });
    next = previousOf(jws);
  }
  return { agent_id: agentId, name, head, records, next };
}

function countIn(query: ApiRequest["query"]): number {
  const count = query.get("count");
  if (count === null) return PAGE;
  if (!/^[1-9]\d{0,3}$/.test(count) || Number(count) > MAX_PAGE) {
    throw malformed(`count must be a number from 1 to ${MAX_PAGE}`);
  }
  return Number(count);
}

function startOf(query: ApiRequest["query"]): string | undefined {
  const from = query.get("from");
  if (from === null) return undefined;
  if (!AUDIT_ID.test(from)) throw malformed("from must be an Audit-ID");
  return from;
}

function previousOf(jws: string): string | null {
  const payload = decodeJws(jws)?.payload;
  const previous = isRecord(payload) ? payload["previous_audit_id"] : undefined;
  const isLink = typeof previous === "string" && AUDIT_ID.test(previous);
  return isLink && previous !== NO_AUDIT_ID ? previous : null;
}

function keysOf({ publicKey }: RecordParts): readonly object[] {
  if (publicKey === undefined) return [];
  return [{ kid: keyId(publicKey), fingerprint: publicKey.fingerprint, jwk: jwkOf(publicKey) }];
}

function jwkOf({ text }: Ed25519PublicKey): object {
  return { kty: "OKP", crv: "Ed25519", x: text };
}
