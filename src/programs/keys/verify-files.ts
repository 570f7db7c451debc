/** `agtp-keys verify FILE...`: detects the type of each file and verifies it, in the context of the others. */
import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { isRecord, type JsonRecord, recordIn } from "../../base/json-value.ts";
import { readTrustAnchors } from "../../identity/client-certificate-verification.ts";
import type { Ed25519PublicKey } from "../../identity/ed25519.ts";
import { parseBoundedJson } from "../../identity/json-document.ts";
import { beginsAsStateFile } from "../../state/moving/state-file.ts";
import { type Line, readText, usage } from "../shell/command.ts";
import type { Terminal } from "../shell/terminal.ts";
import {
  type CertificateContext,
  checkCertificates,
  checkDocument,
  checkGenesis,
  checkManifest,
  type GenesisReport,
} from "./check-documents.ts";
import { checkRecords, type RecordKeys } from "./check-records.ts";
import { checkKey, type FileReport, failed, hasPassed, isKeyText, printReports } from "./checks.ts";
import { readPasskeys, readVerificationKeys } from "./key-files.ts";

/** The files; none with --chain. */
export const VERIFY_ARGS = {
  "[files...]": "Genesis, identity document, certificate, key, record or manifest",
} as const;

/** The keys to verify with, and the server of a chain. */
export const VERIFY_OPTIONS = {
  "--json": "print JSON",
  "--key <key>": {
    help: "what records and manifests are signed with: file or base64url; repeatable",
    isRepeated: true,
  },
  "--issuer-key <key>": {
    help: "an issuer that is trusted: file or base64url; repeatable",
    isRepeated: true,
  },
  "--ca <file>": "authorities to trust, PEM",
  "--chain <where>": "a journal directory, or agtp://HOST to ask by INSPECT",
  "--archive <directory>": "where [attribution.retention] moved older segments",
  "--agent <id>": { help: "whose chain", words: "agents" },
  "--head <audit-id>":
    "a record that was in the chain, or agtp://HOST to ask for the newest: says where the chain was cut",
  "--passkey <file>": {
    help: "the public key of an operator's passkey, JWK or PEM: no other may have signed approvals; repeatable",
    isRepeated: true,
  },
  "--agent-id <id>": {
    help: "Agent-ID: who asks; default: the agent itself",
    words: "agents",
  },
  "--client-cert <file>": "certificate of the caller, PEM",
  "--client-key <file>": "its key, PEM",
  "--insecure": "trust any certificate of the server",
} as const;

/** The command line, as written. */
export type VerifyLine = Line<typeof VERIFY_ARGS, typeof VERIFY_OPTIONS>;

interface NamedFile {
  readonly file: string;
  readonly text: string;
  readonly recognized: RecognizedFile;
}

interface Context extends CertificateContext, RecordKeys {
  readonly directory: string;
  readonly issuers: readonly Ed25519PublicKey[];
  readonly reports: readonly GenesisReport[];
}

/** Verifies the files of a command line; returns true if all of them passed. */
export function verifyFiles(line: VerifyLine, terminal: Terminal, now: number): boolean {
  const { directory } = terminal;
  for (const option of ["agent", "archive", "head"] as const) {
    if (line[option] !== undefined) throw usage(`expected --chain beside --${option}`);
  }
  const files = line.files.map((file): NamedFile => {
    const text = readText(directory, file);
    return { file, text, recognized: recognize(text) };
  });
  const issuers = readVerificationKeys(line.issuerKey, terminal);
  const geneses = files
    .filter(({ recognized }) => recognized.kind === "genesis")
    .map(({ text, file }) => checkGenesis(text, file, issuers));
  const context: Context = {
    directory,
    keys: readVerificationKeys(line.key, terminal),
    passkeys: readPasskeys(line.passkey, terminal),
    issuers,
    reports: geneses,
    geneses: geneses.flatMap(({ genesis }) => genesis ?? []),
    anchors: line.ca === undefined ? undefined : readAnchors(line.ca, terminal),
    now,
  };
  const reports = files.map((file) => verifyFile(file, context));
  printReports(reports, line.json === true, terminal);
  return reports.every(hasPassed);
}

function verifyFile({ file, text, recognized }: NamedFile, context: Context): FileReport {
  switch (recognized.kind) {
    case "certificate":
      return checkCertificates(text, file, context);
    case "key":
      return checkKey(text, file, statSync(resolve(context.directory, file)).mode);
    case "records":
      return checkRecords(text, file, context);
    case "genesis": {
      const { kind, checks } = checkGenesis(text, file, context.issuers);
      return { file, kind, checks };
    }
    case "document":
      return checkDocument(text, file, findGenesis(file, text, context), context.issuers);
    case "manifest":
      return checkManifest(recognized.manifest, file, context.keys);
    case "unknown":
      return { file, kind: "unknown", checks: [failed("form", recognized.fault)] };
  }
}

/** Finds the named file with this Agent-ID, else the one with the same stem. */
function findGenesis(
  file: string,
  text: string,
  { directory, reports, issuers }: Context,
): GenesisReport | undefined {
  const document: unknown = JSON.parse(text);
  const agentId = recordIn(document)["agent_id"];
  const named = reports.find(({ genesis }) => genesis?.agentId === agentId);
  if (named !== undefined) return named;
  const beside = file.replace(/\.agent\.json$/, ".genesis.json");
  const given = reports.find((report) => report.file === beside);
  if (given !== undefined || beside === file) return given;
  if (!existsSync(resolve(directory, beside))) return undefined;
  return checkGenesis(readText(directory, beside), beside, issuers);
}

function readAnchors(file: string, { directory }: Terminal): CertificateContext["anchors"] {
  const pem = readText(directory, file);
  try {
    const anchors = readTrustAnchors(pem);
    if (anchors.length > 0) return anchors;
  } catch {
    // A damaged certificate is not a certificate.
  }
  throw usage(`${JSON.stringify(file)} must hold certificates in PEM`);
}

type RecognizedFile =
  | { readonly kind: "certificate" | "key" | "records" | "genesis" | "document" }
  | { readonly kind: "manifest"; readonly manifest: JsonRecord }
  | { readonly kind: "unknown"; readonly fault: string };

const STATE_FILE =
  "is of agtpd state export: import it, and verify the chains of the imported journal by --chain";
const RECORD = /^(?:jws:)?[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*\s*(?:\n|$)/;

/** Detects the type of a text. A text that is not JSON may be a secret, so it is never quoted. */
function recognize(text: string): RecognizedFile {
  if (/^\s*[[{]/.test(text)) return recognizeJson(text);
  if (text.includes("-----BEGIN CERTIFICATE-----")) return { kind: "certificate" };
  if (isKeyText(text)) return { kind: "key" };
  if (RECORD.test(text)) return { kind: "records" };
  return {
    kind: "unknown",
    fault: "is neither a certificate or a key in PEM, nor a compact JWS, nor JSON",
  };
}

/** Detects the type of a JSON text; a key or certificate in it is a member's value. */
function recognizeJson(text: string): RecognizedFile {
  if (beginsAsStateFile(text)) return { kind: "unknown", fault: STATE_FILE };
  const parsed = parseBoundedJson(text);
  if (parsed.fault !== undefined) return { kind: "unknown", fault: parsed.fault };
  const { value } = parsed;
  if (!isRecord(value)) return { kind: "unknown", fault: "is JSON, but no object" };
  if ("agtp_api_version" in value || "embedded_methods" in value) {
    return { kind: "manifest", manifest: value };
  }
  if ("issuer_public_key" in value || "agtp_genesis_version" in value) return { kind: "genesis" };
  if ("agent_id" in value && ("agtp_version" in value || "document_type" in value)) {
    return { kind: "document" };
  }
  return { kind: "unknown", fault: "is no Genesis, identity document or manifest" };
}
