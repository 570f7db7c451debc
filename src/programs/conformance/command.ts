/**
 * `agtp-conformance`: tests a server against AGTP-API. The exit code is 0 when no case failed
 * beyond the known failures, 1 when one did, 2 when the server could not be tested.
 */
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { recordIn, textIn } from "../../base/json-value.ts";
import { reasonOf } from "../../base/thrown.ts";
import { AgtpClientError } from "../../client/client-error.ts";
import { isUntrusted } from "../shell/ask-server.ts";
import { type Command, command, FileProblems, usage } from "../shell/command.ts";
import { printJson } from "../shell/print-json.ts";
import type { Terminal } from "../shell/terminal.ts";
import { type Survey, surveyServer, type Target } from "./ask.ts";
import { type ConformanceCase, loadCases, shippedCasesPath } from "./case.ts";
import {
  CONFORMANCE_ARGS,
  CONFORMANCE_OPTIONS,
  type ConformanceLine,
  chooseCases,
  readCatalog,
  readIdentity,
  readKnownFailing,
  readPeer,
  readProposal,
  readSeconds,
} from "./command-inputs.ts";
import { describeCase, jsonReport, junitReport } from "./machine-reports.ts";
import { textReport } from "./report-text.ts";
import { runSuite } from "./run-suite.ts";
import { prepareSubject } from "./subject.ts";
import { isConforming, type RunVerdict, type ServerFacts } from "./verdict.ts";

const NOTES = `
Nothing that changes the server's state is asked without --allow-state-changes; endpoints are tried
only where their impact is "informational".

Examples:
  agtp-conformance agtp://localhost
  agtp-conformance agtp://agents.acme.example --agent-id 4f… --scope booking:read,booking:room
  agtp-conformance agtp://localhost --only 5.1 --only 13.1.4
  agtp-conformance agtp://localhost --agent-id 4f… --allow-state-changes --junit conformance.xml

Exit codes: 0 nothing failed that is not known to; 1 a case failed; 2 it could not be asked.`;

export const conformanceProgram: Command = command({
  name: "agtp-conformance",
  description: "Runs the conformance cases of AGTP-API against a server.",
  args: CONFORMANCE_ARGS,
  options: CONFORMANCE_OPTIONS,
  notes: NOTES,
  run: async (line, terminal) => {
    const all = readCases(line, terminal);
    const cases = chooseCases(all, line);
    if (line.list) {
      listCases(cases, line, terminal);
      return true;
    }
    const verdict = await askServer(line, { all, cases }, terminal);
    await report(verdict, line, terminal);
    return isConforming(verdict);
  },
});

function readCases({ cases: folder }: ConformanceLine, { directory }: Terminal): Cases {
  const path = folder === undefined ? shippedCasesPath() : resolve(directory, folder);
  const { cases, problems } = loadCases(path);
  if (problems.length > 0) throw new FileProblems(problems);
  return cases;
}

type Cases = readonly ConformanceCase[];

function listCases(cases: Cases, { json }: ConformanceLine, { out }: Terminal): void {
  if (json) {
    printJson(cases.map(describeCase), out);
    return;
  }
  const width = Math.max(...cases.map(({ name }) => name.length));
  for (const { name, title, clauses, changesState } of cases) {
    const sections = clauses.map((clause) => `§${clause}`).join(" ");
    const remark = changesState ? " (changes state)" : "";
    out.write(`${name.padEnd(width)}  ${sections}  ${title}${remark}\n`);
  }
}

async function askServer(
  line: ConformanceLine,
  { all, cases }: { readonly all: Cases; readonly cases: Cases },
  terminal: Terminal,
): Promise<RunVerdict> {
  const timeoutMs = readSeconds(line.timeout, "--timeout");
  const target: Target = { peer: readPeer(line, terminal), timeoutMs };
  const identity = readIdentity(line);
  const belongings = {
    identity,
    catalog: readCatalog(line, terminal),
    proposal: readProposal(line, terminal),
  };
  const options = {
    target,
    allowStateChanges: line.allowStateChanges === true,
    isStrict: line.strict === true,
    known: readKnownFailing(line, all, terminal),
    totalTimeoutMs: readSeconds(line.totalTimeout, "--total-timeout"),
  };
  const result = await surveyServer(target, identity);
  if (result.kind === "unreachable") {
    throw new AgtpClientError("ERR_AGTP_CONNECT", result.message + hint(result.message, line));
  }
  if (line.cert === undefined && isShut(result.survey)) terminal.err.write(SHUT);
  const subject = prepareSubject(result.survey, belongings);
  const verdicts = await runSuite(cases, subject, options);
  return { uri: line.uri ?? "", server: factsOf(result.survey), verdicts };
}

const SHUT =
  "agtp-conformance: the server closes connections unanswered; one that asks for certificates does so: --cert, --key\n";

/** Returns true if the server answered none of the questions about itself. */
function isShut({ manifest, inventory, patterns }: Survey): boolean {
  return [manifest, inventory, patterns].every(
    (one) => one.kind === "missing" && one.isClosed === true,
  );
}

function hint(message: string, line: ConformanceLine): string {
  if (line.fingerprint !== undefined || !isUntrusted(message, line)) return "";
  return " (name its authority with --ca, its certificate with --fingerprint, or use --insecure)";
}

function factsOf({ manifest }: Survey): ServerFacts {
  if (manifest.kind === "missing") return {};
  const { server, agtp_api_version: api, catalog_version: catalog } = manifest.value;
  return {
    serverId: textIn(recordIn(server)["server_id"]),
    apiVersion: textIn(api),
    catalogVersion: textIn(catalog),
  };
}

async function report(
  run: RunVerdict,
  { json, junit }: ConformanceLine,
  { out, directory }: Terminal,
): Promise<void> {
  if (json) printJson(jsonReport(run), out);
  else out.write(textReport(run, out));
  if (junit !== undefined) writeReport(resolve(directory, junit), await junitReport(run));
}

function writeReport(path: string, text: string): void {
  try {
    writeFileSync(path, text);
  } catch (error) {
    throw usage(`the JUnit report cannot be written: ${reasonOf(error)}`);
  }
}
