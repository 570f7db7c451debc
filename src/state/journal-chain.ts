/**
 * The chain of one agent in the journal of a directory, which is only read: a daemon may be writing
 * it, and a copy of it can be checked anywhere. The journal has every record, so that a fork is seen
 * here, where a walk from the head sees only one branch.   AGTP-IDENTIFIERS "Audit Log"
 */
import type { Ed25519PublicKey } from "../identity/ed25519.ts";
import { BackwardWalk } from "./backward-walk.ts";
import { type JournalChain, readInOrder } from "./journal-order.ts";
import { describeGap, findBefore, findStray } from "./stray-records.ts";
import type { ChainBreak, ChainReport } from "./verify-chain.ts";

/**
 * Checks an agent's chain in a journal; undefined when it has no record of that agent. `trustedHead`
 * is the Audit-ID of a record that is known to have been in it.
 */
export async function verifyJournalChain(
  directory: string,
  agentId: string,
  keys: readonly Ed25519PublicKey[],
  { trustedHead, judge }: Partial<Pick<JournalChain, "trustedHead" | "judge">> = {},
): Promise<ChainReport | undefined> {
  const chain = { directory, agentId, keys, trustedHead, judge };
  const report = await readInOrder(chain);
  return report === "disorder" ? findReason(chain) : report;
}

/** Walks back from the head, and looks for what the walk has passed over. */
async function findReason(chain: JournalChain): Promise<ChainReport | undefined> {
  const walk = new BackwardWalk(chain);
  const report = await walk.report();
  if (report === undefined) return undefined;
  // A cut tail matters less than a fault in the rest.
  const isCut = report.broken?.kind === "truncated";
  const isHeld = report.broken === undefined || isCut;
  const stray = isHeld ? await findStray(chain, walk.passed) : undefined;
  const broken = stray ?? report.broken;
  return { ...report, broken: broken && (await explain(broken, report, chain)) };
}

/** Adds what the order of the journal tells about a break. */
async function explain(
  broken: ChainBreak,
  { first }: ChainReport,
  chain: JournalChain,
): Promise<ChainBreak> {
  if (broken.kind !== "missing-record" || first === undefined) return broken;
  const before = await findBefore(chain, first.auditId);
  if (before === undefined) return broken;
  return { ...broken, message: `${broken.message}: ${describeGap(before)}` };
}
