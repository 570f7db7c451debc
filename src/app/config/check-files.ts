/**
 * Rules about files: a named file must exist and be readable, because a server that starts without
 * its certificate, keys or catalog is not the one that was asked for.
 */
import { existsSync, opendirSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import {
  describeFileError,
  findDirectoryFault,
  PERMISSION_FAULT,
  readBoundedFile,
  WAY_TO_READ,
} from "../../base/bounded-file.ts";
import { joinKey } from "../../base/dotted-key.ts";
import { shellWord } from "../../base/shell-word.ts";
import { readMcpSettings } from "../../handlers/mcp/read-settings.ts";
import { readPrivateKey } from "../../identity/ed25519.ts";
import { journalDirectory } from "../../state/state-directory.ts";
import { type CrossCheck, type Report, rule } from "./config.ts";

const MAX_PEM_BYTES = 1024 * 1024;
const DEFAULT_CATALOG = "catalog/methods.json";
const MAX_DATA_BYTES = 16 * 1024 * 1024;

/** The rules of this file. */
export const fileChecks: readonly CrossCheck[] = [
  rule(["tls"], ({ tls }, report) => {
    checkPair("tls", tls, report);
    checkFile("tls.client_ca", tls.clientCa, report);
  }),
  rule(["gateway"], ({ gateway }, report) => checkPair("gateway", gateway, report)),
  rule(["console"], ({ console }, report) => {
    checkPair("console", console, report);
    checkFile("console.oidc.ca", console.oidc?.ca, report);
  }),
  rule(
    ["mcp"],
    ({ mcp, directory }, report) => void readMcpSettings(mcp.servers, directory, report),
  ),
  rule(["catalog"], ({ catalog, directory }, report) => {
    if (catalog.file === join(directory, DEFAULT_CATALOG) && isAbsent(catalog.file)) {
      const message = `"${DEFAULT_CATALOG}" does not exist, the catalog that comes with agtpd is used`;
      report("catalog.file", message, { severity: "warning" });
    } else checkFile("catalog.file", catalog.file, report, MAX_DATA_BYTES);
  }),
  rule(["handlers"], ({ handlers }, report) => {
    const fault = findDirectoryFault(handlers.root);
    if (fault !== undefined) report("handlers.root", `"${handlers.root}" ${fault}`);
  }),
  rule(["policies"], ({ policies }, report) =>
    checkFile("policies.oauth.jwks_file", policies.oauth?.jwksFile, report, MAX_DATA_BYTES),
  ),
  rule(["store"], ({ store: { driver, path } }, report) => {
    if (driver !== "sqlite" || findDirectoryFault(path) !== undefined) return;
    report("store.path", `"${path}" must be a file, is a directory`);
  }),
  rule(["signing"], ({ signing: { key } }, report) => {
    if (key === undefined) return;
    const hint = `agtp-keys signing --out ${shellWord(key)} makes one`;
    const text = checkFile("signing.key", key, report, MAX_PEM_BYTES, hint);
    if (text === undefined || readPrivateKey(text) !== undefined) return;
    const message = `"${key}" must be an Ed25519 private key in PEM, not encrypted`;
    report("signing.key", message, { hint });
  }),
  rule(["webhooks"], ({ webhooks }, report) => {
    checkFile("webhooks.ca", webhooks.ca, report);
  }),
  rule(["peers"], ({ peers }, report) => {
    for (const [index, peer] of peers.entries()) {
      checkPair(`peers[${index}]`, peer, report);
      checkFile(`peers[${index}].ca`, peer.ca, report);
    }
  }),
  // The publishers whose signatures on packs are trusted.
  rule(["openwop"], ({ openwop }, report) => {
    for (const [name, path] of Object.entries(openwop.trustedKeys)) {
      checkFile(joinKey("openwop.trusted_keys", name), path, report);
    }
  }),
];

/** Tells whether a path does not exist; false if that cannot be determined, so that the file is not skipped. */
function isAbsent(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}

function checkPair(
  section: string,
  { cert, key }: { readonly cert?: string; readonly key?: string },
  report: Report,
): void {
  checkFile(`${section}.cert`, cert, report);
  checkFile(`${section}.key`, key, report);
  if (cert !== undefined && key === undefined) report(`${section}.key`, "is required beside cert");
  if (cert === undefined && key !== undefined) report(`${section}.cert`, "is required beside key");
}

function checkFile(
  key: string,
  path: string | undefined,
  report: Report,
  maxBytes: number = MAX_PEM_BYTES,
  hint: string = "relative paths start at the directory of the configuration",
): string | undefined {
  if (path === undefined) return undefined;
  const { text, fault } = readBoundedFile(path, maxBytes);
  if (fault !== undefined) {
    const isDenied = fault === PERMISSION_FAULT;
    report(key, `"${path}" ${fault}`, { hint: isDenied ? WAY_TO_READ : hint });
  }
  return text;
}

/** `[attribution.retention]` needs a limit of age or size.   AGTP-IDENTIFIERS "Audit Log" */
export const retentionCheck: CrossCheck = rule(
  ["attribution"],
  ({ attribution, directory }, report) => {
    const limits = attribution.retention;
    if (limits === undefined) return;
    const key = "attribution.retention";
    if (limits.days === undefined && limits.bytes === undefined) {
      report(key, "must have days or bytes: nothing is ever too old or too much without both");
    }
    const fault = limits.archive && findArchiveFault(limits.archive, journalDirectory(directory));
    if (fault) report(`${key}.archive`, `"${limits.archive}" ${fault}`);
  },
);

/** Finds the fault of an archive directory; a missing one is created with the first archived segment. */
function findArchiveFault(archive: string, journal: string): string | undefined {
  if (archive === journal || archive.startsWith(`${journal}${sep}`)) {
    return "must be outside the journal itself";
  }
  try {
    if (statSync(archive, { throwIfNoEntry: false })?.isDirectory() === false) {
      return "must be a directory";
    }
    // Opened, since archived records are looked up in it.
    if (existsSync(archive)) opendirSync(archive).closeSync();
    return undefined;
  } catch (error) {
    return describeFileError(error);
  }
}
