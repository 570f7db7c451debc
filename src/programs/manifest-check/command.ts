/**
 * `agtp-manifest`: checks a manifest from a file or from its server. The exit code is 0 without a
 * fault, 1 with one or where the server refuses, 2 when there was nothing to be checked.
 * AGTP-API §8
 */
import { resolve } from "node:path";
import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import { formatProblem, isError } from "../../base/problem.ts";
import type { Catalog } from "../../catalog/catalog.ts";
import { loadCatalog } from "../../catalog/catalog-file.ts";
import { shippedCatalogPath } from "../../catalog/shipped-catalog.ts";
import { AgtpClientError } from "../../client/client-error.ts";
import { usage } from "../shell/command-file.ts";
import { defuseLine, type Terminal } from "../shell/terminal.ts";
import { checkManifest, type ManifestContext } from "./check-manifest.ts";
import { type ManifestCommandLine, parseCommandLine } from "./command-line.ts";
import { FindingList } from "./findings.ts";
import { type FetchFlags, fetchManifest, isUri, readManifestFile } from "./read-manifest.ts";
import { printReport } from "./report.ts";
import { readSigningKeys } from "./signing-keys.ts";

/** Runs the program and answers its exit code. */
export async function runManifestCommand(
  args: readonly string[],
  terminal: Terminal,
): Promise<number> {
  const line = parseCommandLine(args, terminal);
  if (line.kind === "end") return line.exitCode;
  try {
    return (await run(line, terminal)) ? 0 : 1;
  } catch (error) {
    if (!(error instanceof AgtpClientError)) throw error;
    terminal.err.write(`agtp-manifest: ${defuseLine(error.message)}\n`);
    return 2;
  }
}

/** Whether there is no fault. */
async function run(line: ManifestCommandLine, terminal: Terminal): Promise<boolean> {
  const { source, clientCert, clientKey } = line;
  if ((clientCert === undefined) !== (clientKey === undefined)) {
    throw usage("expected --client-cert and --client-key together");
  }
  // Everything that the command line names is read before anybody is asked.
  const context = readContext(line, terminal);
  const findings = new FindingList();
  const value = isUri(source)
    ? await fetchManifest(source, fetchFlags(line), terminal, findings.report)
    : readManifestFile(source, terminal, findings.report);
  const check = value === undefined ? undefined : checkManifest(value, context, findings.report);
  const isValid = !findings.hasFaults;
  const report = { source, value, check, findings: findings.list(), isValid };
  printReport(report, line.json === true, terminal);
  return isValid;
}

function fetchFlags(line: ManifestCommandLine): FetchFlags {
  const { ca, insecure, agentId, clientCert, clientKey } = line;
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(insecure === undefined ? {} : { insecure }),
    ...(clientCert === undefined ? {} : { cert: clientCert }),
    ...(clientKey === undefined ? {} : { key: clientKey }),
    agentId,
  };
}

function readContext(line: ManifestCommandLine, terminal: Terminal): ManifestContext {
  const { previous, agentId, clientCert } = line;
  return {
    now: Date.now(),
    keys: readSigningKeys(line.key, terminal),
    isAnonymous: isUri(line.source) && agentId === undefined && clientCert === undefined,
    earlier: previous === undefined ? undefined : readEarlier(previous, terminal),
    catalogOf: catalogSource(line.catalog, terminal),
  };
}

/** What an earlier revision had wrong itself is not this one's fault. */
function readEarlier(file: string, terminal: Terminal): JsonRecord {
  const value = readManifestFile(file, terminal, () => undefined);
  if (isRecord(value)) return value;
  throw usage(`${JSON.stringify(file)} must hold a manifest`);
}

/** The catalog that is named, or the product's own where that has the version. */
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
  const [problem] = problems.filter(isError);
  throw usage(problem === undefined ? `${file} is no catalog` : formatProblem(problem));
}
