/** `agtp-keys verify --chain`: walks an attribution chain, and reports where it is broken. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { findDirectoryFault } from "../../base/bounded-file.ts";
import { reasonOf } from "../../base/thrown.ts";
import type { Ed25519PublicKey } from "../../identity/ed25519.ts";
import { isAgentId, isSha256 } from "../../identity/identifiers.ts";
import {
  type ChainCut,
  type JournalReport,
  verifyJournalChain,
} from "../../state/journal/journal-chain.ts";
import {
  type ChainRecord,
  type ChainReport,
  truncation,
} from "../../state/records/verify-chain.ts";
import { askServer, trustFlags } from "../shell/ask-server.ts";
import { CommandRefusal, usage } from "../shell/command.ts";
import { printJson } from "../shell/print-json.ts";
import type { Terminal } from "../shell/terminal.ts";
import { PasskeyChecks } from "./check-records.ts";
import {
  followInArchive,
  type InspectedReport,
  inspectHead,
  verifyInspectedChain,
} from "./inspect-chain.ts";
import { printFacts, readPasskeys, readVerificationKeys } from "./key-files.ts";
import type { VerifyLine } from "./verify-files.ts";

interface Question {
  readonly line: VerifyLine & { readonly chain: string };
  readonly agentId: string;
  readonly keys: readonly Ed25519PublicKey[];
  readonly trustedHead: string | undefined;
  readonly passkeys: PasskeyChecks;
}

const SERVER = /^agtp:\/\//i;

/** Walks the chain of a command line; returns true if it is intact. */
export async function verifyChainOf(
  line: VerifyLine & { readonly chain: string },
  terminal: Terminal,
): Promise<boolean> {
  const { chain, agent, json = false } = line;
  if (line.files.length > 0) throw usage("expected files or --chain, got both");
  if (agent === undefined) throw usage("expected --agent beside --chain");
  if (!isAgentId(agent))
    throw usage(`--agent must be 64 lower-case hex characters, got "${agent}"`);
  const keys = readVerificationKeys(line.key, terminal);
  // Read first, so that the walk includes records written meanwhile.
  const trustedHead = await readTrustedHead(line, agent, terminal);
  const passkeys = new PasskeyChecks(readPasskeys(line.passkey, terminal));
  const question: Question = { line, agentId: agent, keys, trustedHead, passkeys };
  const walked: WalkedChain | undefined = SERVER.test(chain)
    ? await walkServer(question, terminal)
    : await walkJournal(question, terminal);
  const report = walked ?? nothingLeft(question);
  if (report === undefined) throw new CommandRefusal(`${chain} has no record of agent ${agent}`);
  if (json) printJson(asDocument(report, question), terminal.out);
  else printFacts(asFacts(report, question), false, terminal);
  return report.broken === undefined;
}

/** Reads `--head`: an Audit-ID, or a server that is asked for it. */
async function readTrustedHead(
  line: VerifyLine,
  agentId: string,
  terminal: Terminal,
): Promise<string | undefined> {
  const { head } = line;
  if (head === undefined) return undefined;
  if (SERVER.test(head)) {
    const callerId = line.agentId ?? agentId;
    const asked = await askServer(trustFlags(line), head, terminal, (client) =>
      inspectHead(client, { agentId, callerId }),
    );
    if (asked !== undefined) return asked;
    throw new CommandRefusal(`${head} has no record of agent ${agentId}`);
  }
  const auditId = head.replace(/^sha256:/, "");
  if (isSha256(auditId)) return auditId;
  throw usage(`expected --head to be an Audit-ID or agtp://HOST, got ${JSON.stringify(head)}`);
}

/** The report on an empty chain; undefined if no record is known to have existed. */
function nothingLeft({ agentId, trustedHead }: Question): ChainReport | undefined {
  if (trustedHead === undefined) return undefined;
  const none = { records: 0, first: undefined, last: undefined };
  const counts = { verified: 0, unsigned: 0, unchecked: 0 };
  return { agentId, head: trustedHead, ...none, ...counts, broken: truncation(trustedHead) };
}

async function walkServer(
  { line, agentId, keys, trustedHead, passkeys: { judge } }: Question,
  terminal: Terminal,
): Promise<WalkedChain | undefined> {
  const callerId = line.agentId ?? agentId;
  const question = { agentId, keys, trustedHead, judge };
  const served = await askServer(trustFlags(line), line.chain, terminal, (client) =>
    verifyInspectedChain(client, { ...question, callerId }),
  );
  const { archive } = line;
  if (served?.archived === undefined || archive === undefined) return served;
  const directory = directoryOf("--archive", archive, terminal);
  return followInArchive(served, { ...question, directory });
}

async function walkJournal(
  { line, agentId, keys, trustedHead, passkeys: { judge } }: Question,
  terminal: Terminal,
): Promise<JournalReport | undefined> {
  const { directory } = terminal;
  const { chain } = line;
  const path = resolve(directory, chain);
  const fault = findDirectoryFault(path);
  if (fault !== undefined) {
    const expected = "expected --chain to be a journal directory or agtp://HOST";
    if (existsSync(path)) throw usage(`${expected}, got "${chain}"`);
    const hint = fault === "does not exist" ? "; a daemon makes it when it is started" : "";
    throw usage(`${expected}: "${chain}" ${fault}${hint}`);
  }
  const archive =
    line.archive === undefined ? undefined : directoryOf("--archive", line.archive, terminal);
  try {
    const question = { directory: path, archive, agentId, keys, trustedHead, judge };
    return await verifyJournalChain(question);
  } catch (error) {
    throw usage(`${JSON.stringify(chain)} cannot be read: ${reasonOf(error)}`);
  }
}

function directoryOf(option: string, written: string, { directory }: Terminal): string {
  const path = resolve(directory, written);
  if (findDirectoryFault(path) === undefined) return path;
  throw usage(`expected ${option} to be a directory, got "${written}"`);
}

/** A report from a journal or from a server. */
type WalkedChain = JournalReport & InspectedReport;

function asDocument({ broken, cut, archived, ...report }: WalkedChain, question: Question): object {
  const { line, passkeys } = question;
  const { agentId, head, records, first, last, verified, unsigned, unchecked } = report;
  return {
    ok: broken === undefined,
    source: line.chain,
    agent_id: agentId,
    head,
    records,
    first: first && recordAsJson(first),
    last: last && recordAsJson(last),
    signatures: { verified, unsigned, unchecked },
    cut: cut && cutAsJson(cut),
    archived,
    passkeys:
      passkeys.signed === 0 ? undefined : { verified: passkeys.signed, pinned: passkeys.arePinned },
    broken:
      broken === undefined
        ? null
        : { kind: broken.kind, audit_id: broken.auditId, message: broken.message },
  };
}

function cutAsJson({ auditId, records, through, at, isArchived }: ChainCut) {
  return { audit_id: auditId ?? null, records, through, at, is_archived: isArchived };
}

function recordAsJson({ auditId, issuedAt, method, path, status }: ChainRecord) {
  return { audit_id: auditId, issued_at: issuedAt, method, path, status };
}

function asFacts(report: WalkedChain, { line, passkeys }: Question) {
  const { agentId, records, first, last, broken, cut, archived } = report;
  const gone = `record ${archived} and those before it are not served any more, by the server's word`;
  return {
    agent: agentId,
    source: line.chain,
    records: String(records),
    first: describeRecord(first),
    last: describeRecord(last),
    signatures: describeSignatures(report),
    cut: cut === undefined ? archived && gone : describeCut(cut),
    passkeys: passkeys.signed === 0 ? undefined : describePasskeys(passkeys),
    chain: broken === undefined ? "holds" : undefined,
    broken: broken && `${broken.kind}: ${broken.message}`,
  };
}

function describeRecord(record: ChainRecord | undefined): string {
  if (record === undefined) return "none";
  const { issuedAt, method, path, status = "", auditId } = record;
  return `${issuedAt}  ${method} ${path} ${status}  ${auditId}`;
}

function describeCut({ auditId, records, through, at, isArchived }: ChainCut): string {
  const done = isArchived ? "moved to an archive" : "deleted";
  const which = auditId === undefined ? "none of this chain" : `${records} up to ${auditId}`;
  return `${which}, with the segments through ${through}, ${done} at ${at}`;
}

function describePasskeys({ signed, arePinned }: PasskeyChecks): string {
  const by = arePinned
    ? "by keys that --passkey names"
    : "by the keys in their records, no --passkey";
  return `${signed} approvals signed, ${by}`;
}

function describeSignatures({ verified, unsigned, unchecked }: ChainReport): string {
  const unused = unchecked > 0 ? `, ${unchecked} not checked for want of --key` : "";
  return `${verified} verified, ${unsigned} unsigned${unused}`;
}
