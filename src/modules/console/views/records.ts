/** Chains of signed records: the page verifies them itself, and need not trust this server. */
import { recordIn } from "../../../base/json-value.ts";
import type { Ed25519PublicKey } from "../../../identity/ed25519.ts";
import { isSha256 } from "../../../identity/identifiers.ts";
import { decodeJws, keyId } from "../../../identity/jws.ts";
import type { Ledger } from "../../../state/records/ledger.ts";
import { NO_AUDIT_ID, serverChainId } from "../../../state/records/record.ts";
import type { ChainHead } from "../../../state/records/record-store.ts";
import type { Chain, ChainPage, ServerKey } from "../answers.ts";
import { type ApiRequest, type ApiRoute, get } from "../console-api.ts";
import { malformed, unknown } from "../console-fault.ts";
import { Rows } from "../rows.ts";

/** Dependencies of these routes. */
interface RecordParts {
  readonly state: {
    readonly ledger: Pick<Ledger, "currentHeadOf" | "currentHeadsOf" | "openReader" | "whereCut">;
  };
  /** Agents that may have a chain; `name` is null if unknown. */
  readonly directory: {
    list(): readonly { readonly agentId: string; readonly name: string | null }[];
  };
  /** Id of this server, whose own chain is listed too. */
  readonly serverId: string;
  /** Undefined if records are not signed. */
  readonly publicKey: Ed25519PublicKey | undefined;
}

const PAGE = 200;
const MAX_PAGE = 1_000;
/** Value of `behind` if the missing record is the head itself. */
const HEAD = "head";

/** `GET /api/records`, `/api/records/{agent_id}` and `/api/keys` */
export function recordRoutes(parts: RecordParts): readonly ApiRoute[] {
  return [
    get("/records", async () => ({ chains: await chainsOf(parts) })),
    get("/records/:id", ({ params, query }) => walk(parts, params["id"] ?? "", query)),
    get("/keys", () => ({ keys: keysOf(parts) })),
  ];
}

/** Every possible owner of a chain, the server first. */
function holdersOf({ directory, serverId }: RecordParts): ReturnType<typeof directory.list> {
  const server = { agentId: serverChainId(serverId), name: `${serverId} (this server)` };
  return [server, ...directory.list().filter(({ agentId }) => agentId !== server.agentId)];
}

/** True for a possible owner of a chain, and for the owner of an existing one. */
export async function hasChain(parts: RecordParts, agentId: string): Promise<boolean> {
  const isHolder = holdersOf(parts).some((one) => one.agentId === agentId);
  return isHolder || (await parts.state.ledger.currentHeadOf(agentId)) !== undefined;
}

async function chainsOf(parts: RecordParts): Promise<Rows<NamedHead>> {
  const holders = holdersOf(parts);
  const heads = await parts.state.ledger.currentHeadsOf(holders.map(({ agentId }) => agentId));
  const chains = holders.flatMap(({ agentId, name }) => {
    const head = heads.get(agentId);
    return head === undefined ? [] : [{ agentId, name, ...head }];
  });
  return new Rows(chains, ({ agentId, name, auditId, at }): Chain => {
    return { agent_id: agentId, name, audit_id: auditId, last_at: new Date(at).toISOString() };
  });
}

interface NamedHead extends ChainHead {
  readonly agentId: string;
  readonly name: string | null;
}

type Reader = ReturnType<RecordParts["state"]["ledger"]["openReader"]>;

/** The part of a chain that a page shows, with the reason why it ends there. */
type Run = Omit<ChainPage, "agent_id" | "name" | "head">;

/** Returns a page of an agent's chain, walking back from the head, a named record or a gap. */
async function walk(
  parts: RecordParts,
  agentId: string,
  query: ApiRequest["query"],
): Promise<ChainPage> {
  const { ledger } = parts.state;
  const head = (await ledger.currentHeadOf(agentId))?.auditId ?? null;
  if (head === null && !(await hasChain(parts, agentId))) throw unknown("chain");
  const name = holdersOf(parts).find((one) => one.agentId === agentId)?.name ?? null;
  const [from, behind, most] = [idIn(query, "from"), query.get("behind"), countIn(query)];
  const reader = ledger.openReader();
  if (behind === null) {
    return { agent_id: agentId, name, head, ...(await run(parts, { reader, most, from, head })) };
  }
  const auditId = behind === HEAD ? undefined : idIn(query, "behind");
  const first = await reader.before?.(agentId, auditId);
  const rest =
    first === undefined
      ? { records: [], next: null }
      : await run(parts, { reader, most, from: undefined, head, first });
  return { agent_id: agentId, name, head, ...rest };
}

interface Running {
  readonly reader: Reader;
  readonly most: number;
  /** The record to start with; undefined for the head. */
  readonly from: string | undefined;
  readonly head: string | null;
  /** A record that was already found, to start with instead. */
  readonly first?: { readonly auditId: string; readonly jws: string };
}

/** Walks back from each record to the previous one that it names. */
async function run(parts: RecordParts, { reader, most, from, head, first }: Running): Promise<Run> {
  const { ledger } = parts.state;
  const records: ChainPage["records"][number][] = [];
  if (first !== undefined) records.push({ audit_id: first.auditId, jws: first.jws });
  let next = first === undefined ? (from ?? head) : previousOf(first.jws);
  while (next !== null && records.length < most) {
    const jws = await reader.find(next);
    if (jws === undefined) {
      const where = await ledger.whereCut(next);
      if (where !== undefined) {
        const cut = { audit_id: next, is_archived: where.isArchived, through: where.through };
        return { records, next: null, cut };
      }
      // Null if the page starts with it: the reader knows which record names it.
      const behind = records.at(-1)?.audit_id ?? (next === head ? HEAD : null);
      const broken = { audit_id: next, reason: "the record is not in the journal", behind };
      return { records, next: null, broken };
    }
    records.push({ audit_id: next, jws });
    next = previousOf(jws);
  }
  return { records, next };
}

function countIn(query: ApiRequest["query"]): number {
  const count = query.get("count");
  if (count === null) return PAGE;
  if (!/^[1-9]\d{0,3}$/.test(count) || Number(count) > MAX_PAGE) {
    throw malformed(`count must be a number from 1 to ${MAX_PAGE}`);
  }
  return Number(count);
}

function idIn(query: ApiRequest["query"], name: "from" | "behind"): string | undefined {
  const id = query.get(name);
  if (id === null) return undefined;
  if (!isSha256(id)) throw malformed(`${name} must be an Audit-ID`);
  return id;
}

function previousOf(jws: string): string | null {
  const payload = decodeJws(jws)?.payload;
  const previous = recordIn(payload)["previous_audit_id"];
  const isLink = typeof previous === "string" && isSha256(previous);
  return isLink && previous !== NO_AUDIT_ID ? previous : null;
}

function keysOf({ publicKey }: RecordParts): readonly ServerKey[] {
  if (publicKey === undefined) return [];
  const { fingerprint, text } = publicKey;
  return [{ kid: keyId(publicKey), fingerprint, jwk: { kty: "OKP", crv: "Ed25519", x: text } }];
}
