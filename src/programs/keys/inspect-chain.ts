/**
 * Verifies an agent's chain, fetched record by record with INSPECT; if the server's retention has
 * cut it, its beginning is verified in an archive. Only the hashes of fetched records are
 * trusted.   AGTP "INSPECT", AGTP-IDENTIFIERS "Audit Log"
 */
import { isRecord, recordIn } from "../../base/json-value.ts";
import type { AgtpClient, ClientResponse } from "../../client/agtp-client.ts";
import { AgtpClientError } from "../../client/client-error.ts";
import { isAccepted } from "../../client/exchange.ts";
import type { Ed25519PublicKey } from "../../identity/ed25519.ts";
import {
  type JournalQuestion,
  type JournalReport,
  verifyJournalChain,
} from "../../state/journal/journal-chain.ts";
import {
  type ChainReport,
  type JudgePayload,
  truncation,
  verifyChain,
} from "../../state/records/verify-chain.ts";
import { CommandRefusal } from "../shell/command.ts";
import { defuseLine } from "../shell/terminal.ts";

interface InspectedChain {
  readonly agentId: string;
  readonly callerId: string;
  readonly keys: readonly Ed25519PublicKey[];
  readonly trustedHead: string | undefined;
  readonly judge?: JudgePayload | undefined;
}

/** The findings of a walk, and the first record that is in the server's archive. */
export interface InspectedReport extends ChainReport {
  /** The server's own claim. */
  readonly archived?: string | undefined;
}

/** Walks the chain; undefined if the server has no record of this agent. */
export async function verifyInspectedChain(
  client: AgtpClient,
  { agentId, callerId, keys, trustedHead, judge }: InspectedChain,
): Promise<InspectedReport | undefined> {
  const head = await inspectHead(client, { agentId, callerId });
  if (head === undefined) return undefined;
  let archived: string | undefined;
  let isTrusted = trustedHead === undefined;
  const report = await verifyChain({
    ...{ agentId, head, keys, trustedHead, judge },
    fetch: async (auditId) => {
      isTrusted ||= auditId === trustedHead;
      const question = { target: "audit", audit_id: auditId };
      const jws = await inspect(client, callerId, question, "jws");
      if (jws === GONE) archived = auditId;
      return jws === GONE ? undefined : jws;
    },
  });
  // The walk ends at the first unavailable record.
  const isCut = archived !== undefined && report.broken?.auditId === archived;
  if (!isCut) return report;
  return { ...report, broken: isTrusted ? undefined : truncation(trustedHead, head), archived };
}

/** The newest record of an agent's chain; undefined if the server has none. */
export function inspectHead(
  client: AgtpClient,
  { agentId, callerId }: Pick<InspectedChain, "agentId" | "callerId">,
): Promise<string | undefined> {
  const question = { target: "chain_head", agent_id: agentId };
  return inspect(client, callerId, question, "audit_id").then((head) =>
    head === GONE ? undefined : head,
  );
}

/** The result for a record that the server's retention has removed. */
const GONE = Symbol("gone");

async function inspect(
  client: AgtpClient,
  callerId: string,
  parameters: object,
  member: string,
): Promise<string | typeof GONE | undefined> {
  const request = { method: "INSPECT", path: "/", parameters, agentId: callerId };
  return readResult(await client.request(request), member);
}

/** A member of the result; undefined for 404. */
function readResult(response: ClientResponse, member: string): string | typeof GONE | undefined {
  const { status, body } = response;
  if (status === 404) return undefined;
  if (status === 410 && isAboutRecord(body)) return GONE;
  if (!isAccepted(status)) throw new CommandRefusal(`INSPECT was refused: ${reasonOf(response)}`);
  const result = isRecord(body) && isRecord(body["result"]) ? body["result"] : body;
  const value = isRecord(result) ? result[member] : undefined;
  if (typeof value === "string") return value;
  throw new AgtpClientError("ERR_AGTP_RESPONSE", `the response to INSPECT has no "${member}"`);
}

/** Distinguishes a removed record from other uses of 410, such as a retired agent. */
function isAboutRecord(body: unknown): boolean {
  const code = recordIn(recordIn(body)["error"])["code"];
  return code === "record-archived" || code === "record-removed";
}

function reasonOf({ status, body }: ClientResponse): string {
  const error = recordIn(recordIn(body)["error"]);
  const { code, message } = error;
  const said = [code, message].filter((text) => typeof text === "string").join(": ");
  return defuseLine(`${status} ${said}`.trim());
}

/** Continues in an archive where the server's part ends; both parts must be valid and meet. */
export async function followInArchive(
  served: InspectedReport,
  question: Omit<JournalQuestion, "archive">,
): Promise<JournalReport & InspectedReport> {
  const { archived, ...end } = served;
  if (archived === undefined) return served;
  const archive = { ...question, archive: question.directory };
  const begin = await verifyJournalChain({ ...archive, trustedHead: archived });
  if (begin === undefined) return { ...end, broken: truncation(archived) };
  if (begin.broken === undefined && begin.head !== archived) {
    throw new CommandRefusal("the archive went on while the server was asked: verify once more");
  }
  // The archive may contain a trusted head that the server lacks.
  const isTrusted =
    end.broken === undefined || (await verifyJournalChain(archive))?.broken === undefined;
  return {
    ...end,
    records: begin.records + end.records,
    first: begin.first ?? end.first,
    last: end.last ?? begin.last,
    verified: begin.verified + end.verified,
    unsigned: begin.unsigned + end.unsigned,
    unchecked: begin.unchecked + end.unchecked,
    broken: begin.broken ?? (isTrusted ? undefined : end.broken),
    cut: begin.cut,
  };
}
