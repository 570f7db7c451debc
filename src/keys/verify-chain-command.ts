/** `agtp-keys verify --chain`: walks an attribution chain, and reports where it breaks. */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { verifyJournalChain } from "../attribution/journal-chain.ts";
import type { ChainRecord, ChainReport } from "../attribution/verify-chain.ts";
import { createClient } from "../client/client.ts";
import { readOptions } from "../client/command.ts";
import { usage } from "../client/command-file.ts";
import { defuseLine, type Terminal } from "../client/terminal.ts";
import { parseUri } from "../client/uri.ts";
import type { Ed25519PublicKey } from "../identity/ed25519.ts";
import { isAgentId } from "../identity/identifiers.ts";
import { reasonOf } from "../thrown.ts";
import type { VerifyLine } from "./command-options.ts";
import { CommandRefusal } from "./command-refusal.ts";
import { verifyInspectedChain } from "./inspect-chain.ts";
import { readVerificationKeys } from "./key-files.ts";

/** Walks the chain of a command line; whether it holds. */
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
  const report = /^agtp:\/\//i.test(chain)
    ? await walkServer(line, agent, keys, terminal)
    : await walkJournal(chain, agent, keys, terminal);
  if (report === undefined) throw new CommandRefusal(`${chain} has no record of agent ${agent}`);
  terminal.out.write(json ? asJson(report, chain) : asText(report, chain));
  return report.broken === undefined;
}

async function walkServer(
  line: VerifyLine & { readonly chain: string },
  agentId: string,
  keys: readonly Ed25519PublicKey[],
  terminal: Terminal,
): Promise<ChainReport | undefined> {
  const { clientCert: cert, clientKey: key, ca, insecure } = line;
  if ((cert === undefined) !== (key === undefined)) {
    throw usage("expected --client-cert and --client-key together");
  }
  const flags = {
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(ca === undefined ? {} : { ca }),
    ...(insecure === undefined ? {} : { insecure }),
  };
  const client = createClient(readOptions(flags, parseUri(line.chain), terminal));
  try {
    return await verifyInspectedChain(client, { agentId, callerId: line.agentId ?? agentId, keys });
  } finally {
    await client.close();
  }
}

async function walkJournal(
  chain: string,
  agentId: string,
  keys: readonly Ed25519PublicKey[],
  { directory }: Terminal,
): Promise<ChainReport | undefined> {
  const path = resolve(directory, chain);
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
    throw usage(`expected --chain to be a journal directory or agtp://HOST, got "${chain}"`);
  }
  try {
    return await verifyJournalChain(path, agentId, keys);
  } catch (error) {
    throw usage(`${JSON.stringify(chain)} cannot be read: ${reasonOf(error)}`);
  }
}

function asJson({ broken, ...report }: ChainReport, source: string): string {
  const { agentId, head, records, first, last, verified, unsigned, unchecked } = report;
  const document = {
    ok: broken === undefined,
    source,
    agent_id: agentId,
    head,
    records,
    first: first && recordAsJson(first),
    last: last && recordAsJson(last),
    signatures: { verified, unsigned, unchecked },
    broken:
      broken === undefined
        ? null
        : { kind: broken.kind, audit_id: broken.auditId, message: broken.message },
  };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

function recordAsJson({ auditId, issuedAt, method, path, status }: ChainRecord) {
  return { audit_id: auditId, issued_at: issuedAt, method, path, status };
}

function asText(report: ChainReport, source: string): string {
  const { agentId, records, first, last, broken } = report;
  const lines: readonly (readonly [string, string])[] = [
    ["agent", agentId],
    ["source", source],
    ["records", String(records)],
    ["first", describeRecord(first)],
    ["last", describeRecord(last)],
    ["signatures", describeSignatures(report)],
    broken === undefined ? ["chain", "holds"] : ["broken", `${broken.kind}: ${broken.message}`],
  ];
  return lines.map(([name, text]) => `${name.padEnd(10)}  ${defuseLine(text)}\n`).join("");
}

function describeRecord(record: ChainRecord | undefined): string {
  if (record === undefined) return "none";
  const { issuedAt, method, path, status = "", auditId } = record;
  return `${issuedAt}  ${method} ${path} ${status}  ${auditId}`;
}

function describeSignatures({ verified, unsigned, unchecked }: ChainReport): string {
  const unused = unchecked > 0 ? `, ${unchecked} not checked for want of --key` : "";
  return `${verified} verified, ${unsigned} unsigned${unused}`;
}
