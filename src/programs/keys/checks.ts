/**
 * The checks of one file by `agtp-keys verify`, their output, and those of a key file: that it
 * holds a complete key, of which kind, and that only its owner can read a private one. Nothing but
 * the public half of a private key is ever shown.
 */

import { createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";
import { publicKeyOf, readPublicKey } from "../../identity/ed25519.ts";
import { keyId } from "../../identity/jws.ts";
import { isOversizedRsa, RSA_BITS } from "../../identity/rsa-size.ts";
import { severityMark } from "../shell/findings.ts";
import { printJson } from "../shell/print-json.ts";
import { defuseLine, type Output, type Terminal } from "../shell/terminal.ts";

export interface Check {
  readonly check: string;
  /** `skipped` if something needed is missing; a `warning` does not fail the file. */
  readonly outcome: "ok" | "failed" | "skipped" | "warning";
  readonly message: string;
}

/** Creates a check from its subject and a message. */
type MakeCheck = (check: string, message: string) => Check;
export const ok: MakeCheck = (check, message) => ({ check, outcome: "ok", message });
export const failed: MakeCheck = (check, message) => ({ check, outcome: "failed", message });
export const skipped: MakeCheck = (check, message) => ({ check, outcome: "skipped", message });
export const warning: MakeCheck = (check, message) => ({ check, outcome: "warning", message });

/** The checks of one file. */
export interface FileReport {
  readonly file: string;
  readonly kind:
    | "genesis"
    | "identity-document"
    | "agent-certificate"
    | "certificate-authority"
    | "private-key"
    | "public-key"
    | "attribution-records"
    | "manifest"
    | "unknown";
  readonly checks: readonly Check[];
}

/** Returns true if no check failed. */
export function hasPassed({ checks }: FileReport): boolean {
  return checks.every(({ outcome }) => outcome !== "failed");
}

/** Prints reports for a person, or as JSON. */
export function printReports(
  reports: readonly FileReport[],
  json: boolean,
  { out }: Terminal,
): void {
  if (json) {
    const files = reports.map((report) => ({ ...report, ok: hasPassed(report) }));
    printJson({ ok: reports.every(hasPassed), files }, out);
    return;
  }
  for (const report of reports) out.write(describeReport(report, out));
}

/** The severities whose colours are used for outcomes. */
const COLOURS = { ok: "ok", failed: "error", skipped: "note", warning: "warning" } as const;

function describeReport({ file, kind, checks }: FileReport, out: Output): string {
  const width = Math.max(...checks.map(({ check }) => check.length));
  const lines = checks.map(({ check, outcome, message }) => {
    const mark = severityMark(COLOURS[outcome], out, outcome);
    return `  ${mark}  ${check.padEnd(width)}  ${defuseLine(message)}\n`;
  });
  return `${defuseLine(file)}: ${kind.replace("-", " ")}\n${lines.join("")}`;
}

const PEM_KEY = /-----BEGIN (?:(?:ENCRYPTED|RSA|EC) )?(?:PRIVATE|PUBLIC) KEY-----/;
const ENCRYPTED = /-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED$/m;

/** Returns true if a text is a key, in PEM or as base64url of an Ed25519 public key. */
export function isKeyText(text: string): boolean {
  return PEM_KEY.test(text) || readPublicKey(text) !== undefined;
}

/** Checks the text of a key file; `mode` is the file's. */
export function checkKey(text: string, file: string, mode: number): FileReport {
  const isPrivate = text.includes("PRIVATE KEY-----");
  const key = readKey(text, isPrivate);
  return {
    file,
    kind: isPrivate ? "private-key" : "public-key",
    checks: [formCheck(text, key), ...(isPrivate ? [permissionCheck(mode)] : [])],
  };
}

function readKey(text: string, isPrivate: boolean): KeyObject | undefined {
  try {
    if (isPrivate) return createPrivateKey(text);
    return readPublicKey(text)?.key ?? createPublicKey(text);
  } catch {
    return undefined;
  }
}

function formCheck(text: string, key: KeyObject | undefined): Check {
  if (key !== undefined) return ok("form", describeKey(key, PEM_KEY.test(text)));
  return ENCRYPTED.test(text)
    ? failed("form", "is encrypted, expected a key that a program can read by itself")
    : failed("form", "is damaged, expected a whole key in PEM");
}

/**
 * The algorithm and the names of a key; 43 base64url digits without a context could be a secret, so
 * they are not shown.
 */
function describeKey(key: KeyObject, isNamed: boolean): string {
  const known = publicKeyOf(key);
  if (known !== undefined) {
    return `Ed25519,${isNamed ? ` public key ${known.text},` : ""} kid ${keyId(known)}`;
  }
  const { asymmetricKeyType: type } = key;
  if (type === "rsa" && key.type === "public" && isOversizedRsa(key)) {
    return `RSA, longer than one of ${RSA_BITS.max} bits`;
  }
  const { asymmetricKeyDetails: details } = key;
  if (details?.namedCurve !== undefined) return `ECDSA of ${details.namedCurve}`;
  const bits = details?.modulusLength;
  return bits === undefined ? `of type ${type}` : `${type?.toUpperCase()} of ${bits} bits`;
}

function permissionCheck(mode: number): Check {
  return (mode & 0o077) === 0
    ? ok("permissions", "its owner alone can read it")
    : warning("permissions", "others can read it, its permissions should be 0600");
}
