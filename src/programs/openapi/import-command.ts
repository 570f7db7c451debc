/**
 * `agtp-openapi import`: reads a document, drafts a deployment and writes it. Either every file is
 * written or none, and existing files are only replaced on request.
 */
import { existsSync, readdirSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import type { JsonRecord } from "../../base/json-value.ts";
import { readCertificates } from "../../endpoint/upstream-ca.ts";
import { makeKey } from "../../identity/certificate-writer.ts";
import { type ImportedDocument, importDocument } from "../../openapi/import-document.ts";
import {
  importFiles,
  importReport,
  loadShippedCatalog,
  needsReview,
  SIGNING_KEY,
} from "../../openapi/import-files.ts";
import { checkDocument, readDocument } from "../../openapi/read-document.ts";
import { References } from "../../openapi/references.ts";
import { checkBaseUrl } from "../../openapi/servers-and-security.ts";
import { validateDocument } from "../../openapi/validate-document.ts";
import { schemaFiles, withSchemaLines } from "../editors/schema-files.ts";
import {
  type Command,
  CommandRefusal,
  command,
  type Line,
  readText,
  usage,
} from "../shell/command.ts";
import { firstCall, firstCallText } from "../shell/first-call.ts";
import { printJson } from "../shell/print-json.ts";
import { defuseLine, type Terminal } from "../shell/terminal.ts";
import { writeFiles } from "../shell/write-files.ts";

/** The deployment's file for `--ca`. */
const UPSTREAM_CA = "tls/upstream-ca.pem";
/** The number of operations from which progress is reported; smaller documents are done at once. */
const LONG_DOCUMENT = 100;
const PROGRESS_STEP = 50;
const MAX_SHOWN_FAULTS = 12;

const ARGS = { "<spec>": "the document: a file, or - for standard input" } as const;
const OPTIONS = {
  "-o, --output <dir>": { help: "the deployment directory to write", isRequired: true },
  "--base-url <url>": "where the API is; default: the document's servers",
  "--ca <file>": "the CA that the API's certificate is from, PEM; copied into the deployment",
  "--strict": "exit 1 where more than impact and outcome has to be reviewed",
  "--force": "replace files that are there",
  "--json": "print what was made as JSON",
} as const;

type ImportLine = Line<typeof ARGS, typeof OPTIONS>;

export const importCommand: Command = command({
  name: "import",
  description: "Drafts a deployment from an OpenAPI 3.0, 3.1 or 3.2 document, JSON or YAML.",
  args: ARGS,
  options: OPTIONS,
  run,
});

/** Imports the document; returns false if --strict finds something to review. */
async function run(line: ImportLine, terminal: Terminal): Promise<boolean> {
  const { spec, output, strict = false, force = false, json = false } = line;
  if (line.baseUrl !== undefined) {
    const { fault } = checkBaseUrl(line.baseUrl);
    if (fault !== undefined) throw usage(fault);
  }
  const ca = line.ca === undefined ? undefined : readCa(line.ca, terminal);
  const document = await openDocument(spec, terminal);
  const references = new References(document);
  const faults = checkDocument(document, references);
  if (faults.length > 0) throw refusal(spec, faults);
  const catalog = loadShippedCatalog();
  const result = importDocument(document, {
    ...{ catalog: catalog.catalog, references },
    ...(line.baseUrl === undefined ? {} : { baseUrl: line.baseUrl }),
    ...(ca === undefined ? {} : { ca: UPSTREAM_CA }),
    onProgress: (done, total) => report(done, total, terminal),
  });
  if (result.kind === "fault") throw refusal(spec, [result.message]);
  // Done late, because validation of a large document takes long, and refusals come first.
  const warnings = [...references.describeDangling(), ...(await validateDocument(document))];
  const { imported } = result;
  const files = importFiles(imported, warnings, catalog);
  const directory = resolve(terminal.directory, output);
  const earlier = earlierEndpoints(directory, new Set(files.map(({ path }) => path)));
  const trusted = ca === undefined ? [] : [{ path: UPSTREAM_CA, content: ca }];
  const placed = [...withSchemaLines(files), ...trusted].map(({ path, content }) => {
    return { path: join(output, path), content, isSecret: false };
  });
  writeFiles(terminal.directory, placed, force);
  writeFiles(directory, schemaFiles(), true);
  if (!existsSync(join(directory, SIGNING_KEY))) {
    const key = { path: SIGNING_KEY, content: makeKey("ed25519"), isSecret: true };
    writeFiles(directory, [key], false);
  }
  if (json) printJson(importReport(imported, warnings), terminal.out);
  tell(imported, { line, warnings, earlier }, terminal);
  return !strict || !(needsReview(imported) || warnings.length > 0);
}

function readCa(file: string, { directory }: Terminal): string {
  const { text, fault } = readCertificates(directory, file);
  if (text === undefined) throw usage(`--ca ${fault}`);
  return text;
}

async function openDocument(spec: string, terminal: Terminal): Promise<JsonRecord> {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(spec)) {
    throw usage(`${JSON.stringify(spec)} is a URL, expected a file: nothing is downloaded`);
  }
  const text = spec === "-" ? await terminal.readInput() : readText(terminal.directory, spec);
  const read = await readDocument(text.replace(/^\ufeff/, ""));
  if (read.kind === "fault") throw usage(`${JSON.stringify(spec)} ${read.message}`);
  return read.document;
}

function refusal(spec: string, faults: readonly string[]): CommandRefusal {
  const shown = faults.slice(0, MAX_SHOWN_FAULTS).map((fault) => `${spec}: ${fault}`);
  return new CommandRefusal(shown.join("\n"));
}

function report(done: number, total: number, { err }: Terminal): void {
  if (total < LONG_DOCUMENT || (done % PROGRESS_STEP !== 0 && done !== total)) return;
  err.write(`${done} of ${total} operations\n`);
}

/** Endpoint files from other sources, which the daemon loads as well. */
function earlierEndpoints(directory: string, written: ReadonlySet<string>): readonly string[] {
  try {
    return readdirSync(join(directory, "endpoints"), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".toml"))
      .map((name) => relative(directory, join(directory, "endpoints", name)).replaceAll("\\", "/"))
      .filter((file) => !written.has(file));
  } catch {
    return [];
  }
}

interface Outcome {
  readonly line: ImportLine;
  readonly warnings: readonly string[];
  readonly earlier: readonly string[];
}

function tell(
  imported: ImportedDocument,
  { line, warnings, earlier }: Outcome,
  { directory, err }: Terminal,
): void {
  const { endpoints, leftOut, variables } = imported;
  const open = endpoints.filter(({ reviews }) => reviews.length > 0).length;
  const say = (text: string): void => err.write(`${defuseLine(text)}\n`);
  const count = `${endpoints.length} endpoint${endpoints.length === 1 ? "" : "s"}`;
  say(`${count} in ${line.output}, ${open} to review: see ${line.output}/REVIEW.md`);
  for (const { operation, reason } of leftOut) say(`left out: ${operation}: ${reason}`);
  const places = warnings.length === 1 ? "1 place" : `${warnings.length} places`;
  if (warnings.length > 0) say(`the document breaks its specification in ${places}`);
  for (const { name, sentTo } of variables) say(`set ${name}, sent to ${sentTo.join(", ")}`);
  if (earlier.length > 0) say(`there before, and still served: ${earlier.join(", ")}`);
  if (endpoints.length === 0) return;
  const home = resolve(directory, line.output);
  const place = { home, endpoints: "endpoints", scope: "imported:call", hasKey: true };
  const way = { ...place, directory: line.output, hasVariables: variables.length > 0 };
  err.write(firstCallText(firstCall(endpoints, way)));
}
