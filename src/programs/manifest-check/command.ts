/**
 * `agtp-manifest`: checks a manifest from a file or from its server. The exit code is 0 without a
 * fault, 1 with one or if the server refuses, 2 when there was nothing to check.   AGTP-API §8
 */

import { resolve } from "node:path";
import pc from "picocolors";
import { isRecord, type JsonRecord, textIn, valueAt } from "../../base/json-value.ts";
import { isError } from "../../base/problem.ts";
import type { Catalog } from "../../catalog/catalog.ts";
import { loadCatalog, shippedCatalogPath } from "../../catalog/catalog-file.ts";
import {
  type Ed25519PublicKey,
  publicKeyOf,
  readPrivateKey,
  readPublicKey,
} from "../../identity/ed25519.ts";
import { parseBoundedJson } from "../../identity/json-document.ts";
import { keyOfHeader } from "../../identity/jws.ts";
import { trustFlags } from "../shell/ask-server.ts";
import {
  type Command,
  command,
  FileProblems,
  type Options,
  readText,
  usage,
} from "../shell/command.ts";
import { describeCounts, severityMark } from "../shell/findings.ts";
import { printJson } from "../shell/print-json.ts";
import { defuseLine, type Output, type Terminal } from "../shell/terminal.ts";
import {
  checkManifest,
  describeVerdict,
  type ManifestCheck,
  type ManifestContext,
} from "./check-manifest.ts";
import { FindingList, type ManifestFinding } from "./findings.ts";
import { fetchManifest, isUri, readManifestFile } from "./read-manifest.ts";

const NOTES = `
Examples:
  agtp-manifest agtp://localhost
  agtp-manifest agtp://agents.acme.example --key acme-signing.pem
  agtp-manifest manifest.json --catalog methods.json --previous manifest-of-yesterday.json

Exit codes: 0 no fault, 1 a fault or a refusal, 2 there was no manifest to be had.`;

const OPTIONS = {
  "--key <key>": {
    help: "who should have signed: PEM, JWK, Genesis or identity document as a file, or base64url; repeatable",
    isRepeated: true,
  },
  "--catalog <file>": "the method catalog that the manifest names",
  "--previous <file>": "an earlier revision of the manifest, to compare with",
  "--ca <file>": "authorities to trust, PEM; on loopback default .agtp/tls/cert.pem",
  "--insecure": "trust any certificate",
  "--agent-id <id>": { help: "Agent-ID: who asks; default: nobody", words: "agents" },
  "--client-cert <file>": "certificate of the caller, PEM",
  "--client-key <file>": "its key, PEM",
  "--json": "print JSON",
} as const;

interface ManifestLine extends Options<typeof OPTIONS> {
  readonly source: string;
}

export const manifestProgram: Command = command({
  name: "agtp-manifest",
  description: "Checks a server manifest by every rule of AGTP-API, and verifies its signature.",
  args: { "<source>": "a file, or agtp://HOST[:PORT] to ask the server" },
  options: OPTIONS,
  notes: NOTES,
  run,
});

/** Returns true if the manifest has no fault. */
async function run(line: ManifestLine, terminal: Terminal): Promise<boolean> {
  const { source, agentId } = line;
  const trust = trustFlags(line);
  // Files of the command line are read before any request.
  const context = readContext(line, terminal);
  const findings = new FindingList();
  const value = isUri(source)
    ? await fetchManifest(source, { ...trust, agentId }, terminal, findings.report)
    : readManifestFile(source, terminal, findings.report);
  const check = value === undefined ? undefined : checkManifest(value, context, findings.report);
  const isValid = !findings.hasFaults;
  const report = { source, value, check, findings: findings.list(), isValid };
  printReport(report, line.json === true, terminal);
  return isValid;
}

function readContext(line: ManifestLine, terminal: Terminal): ManifestContext {
  const { previous, agentId, clientCert } = line;
  return {
    now: Date.now(),
    keys: readSigningKeys(line.key, terminal),
    isAnonymous: isUri(line.source) && agentId === undefined && clientCert === undefined,
    earlier: previous === undefined ? undefined : readEarlier(previous, terminal),
    catalogOf: catalogSource(line.catalog, terminal),
  };
}

/** Faults of the earlier revision are not reported. */
function readEarlier(file: string, terminal: Terminal): JsonRecord {
  const value = readManifestFile(file, terminal, () => undefined);
  if (isRecord(value)) return value;
  throw usage(`${JSON.stringify(file)} must hold a manifest`);
}

/** The named catalog, or the product's own if it has the version. */
function catalogSource(file: string | undefined, terminal: Terminal): ManifestContext["catalogOf"] {
  if (file !== undefined) {
    const named = readCatalog(resolve(terminal.directory, file), file);
    return () => named;
  }
  return (version) => {
    const path = shippedCatalogPath();
    const shipped = readCatalog(path, path);
    return shipped.version === version ? shipped : undefined;
  };
}

function readCatalog(path: string, file: string): Catalog {
  const { catalog, problems } = loadCatalog(path, file);
  if (catalog !== undefined) return catalog;
  throw new FileProblems(problems.filter(isError));
}

const KEY_MEMBERS = ["issuer_public_key", "manifest_issuer_public_key"];
const MAX_KEYS = 64;

/**
 * Reads the keys of options: base64url, PEM, or a document with keys (a Genesis, an identity
 * document, a JWK or a set of them). Throws ERR_AGTP_REQUEST for a value without a key.
 */
function readSigningKeys(
  written: readonly string[],
  terminal: Terminal,
): readonly Ed25519PublicKey[] {
  return written.flatMap((one) => {
    const key = readPublicKey(one);
    if (key !== undefined) return [key];
    const keys = keysOf(readText(terminal.directory, one));
    if (keys.length > 0) return keys;
    const expected = "an Ed25519 key in PEM, base64url or JWK, a Genesis or an identity document";
    throw usage(`${JSON.stringify(one)} must hold ${expected}`);
  });
}

function keysOf(text: string): readonly Ed25519PublicKey[] {
  if (text.trimStart().startsWith("{")) return keysOfDocument(text);
  const secret = text.includes("PRIVATE KEY-----") ? readPrivateKey(text) : undefined;
  const key = secret === undefined ? readPublicKey(text) : publicKeyOf(secret);
  return key === undefined ? [] : [key];
}

function keysOfDocument(text: string): readonly Ed25519PublicKey[] {
  const parsed = parseBoundedJson(text);
  if (parsed.fault !== undefined || !isRecord(parsed.value)) return [];
  const document = parsed.value;
  const { keys } = document;
  const jwks: readonly unknown[] = Array.isArray(keys) ? keys.slice(0, MAX_KEYS) : [document];
  return [
    ...KEY_MEMBERS.flatMap((name) => {
      const member = document[name];
      return (typeof member === "string" ? readPublicKey(member) : undefined) ?? [];
    }),
    ...jwks.flatMap((jwk) => keyOfHeader({ jwk }) ?? []),
  ];
}

/** The result for a manifest; `check` is undefined if the server answered with something else. */
interface ManifestReport {
  readonly source: string;
  readonly value: unknown;
  readonly check: ManifestCheck | undefined;
  readonly findings: readonly ManifestFinding[];
  readonly isValid: boolean;
}

/** The draft calls errors faults. */
const WORDS = { error: "fault", warning: "warning" } as const;

function printReport(report: ManifestReport, json: boolean, { out }: Terminal): void {
  if (json) printJson(toJson(report), out);
  else printForPeople(report, out);
}

function toJson({ source, value, check, findings, isValid }: ManifestReport): object {
  const places = (wanted: ManifestFinding["severity"]): readonly object[] =>
    findings
      .filter(({ severity }) => severity === wanted)
      .map(({ key: pointer, rule, message }) => {
        return { pointer, clause: `AGTP-API §${rule}`, message };
      });
  const signature = check?.signature;
  return {
    ok: isValid,
    source,
    server_id: textAt(value, "server", "server_id"),
    document_version: textAt(value, "document_version"),
    catalog: check?.catalog ?? null,
    signature:
      signature === undefined
        ? null
        : {
            state: signature.kind,
            kid: "kid" in signature ? signature.kid : null,
            message: describeVerdict(signature),
          },
    faults: places("error"),
    warnings: places("warning"),
  };
}

function printForPeople(report: ManifestReport, out: Output): void {
  const { source, value, check, findings, isValid } = report;
  const { dim, green, red } = pc.createColors(out.hasColour);
  const server = textAt(value, "server", "server_id");
  const version = textAt(value, "document_version");
  const subject = [server, version].filter((part) => part !== null).join(", ");
  out.write(`${defuseLine(source)}${subject === "" ? "" : `: ${defuseLine(subject)}`}\n`);
  for (const { severity, key, rule, message } of findings) {
    const mark = severityMark(severity, out, WORDS[severity]);
    const place = key === "" ? "(the whole)" : defuseLine(key);
    out.write(`  ${mark}  ${place}  ${dim(`§${rule}`)}  ${defuseLine(message)}\n`);
  }
  if (check !== undefined)
    out.write(`signature: ${defuseLine(describeVerdict(check.signature))}\n`);
  const counts = describeCounts(findings, WORDS);
  const verdict = isValid ? green("valid") : red("not valid");
  out.write(`${[verdict, ...(counts.length === 0 ? [] : [counts.join(", ")])].join(": ")}\n`);
}

function textAt(value: unknown, ...names: readonly string[]): string | null {
  return textIn(valueAt(value, names)) ?? null;
}
