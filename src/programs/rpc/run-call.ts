/** Runs one call of a method: reads its parameters, prints or writes its result, reports its failure. */

import { lstatSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { readBoundedFile } from "../../base/bounded-file.ts";
import type { Environment } from "../../base/environment.ts";
import { jsonExcess } from "../../base/json-bounds.ts";
import { type JsonRecord, quoteValue } from "../../base/json-value.ts";
import { isWithin, makeDirectory } from "../../base/paths.ts";
import { findRepeatedMember } from "../../base/repeated-member.ts";
import { reasonOf } from "../../base/thrown.ts";
import { AgtpClientError } from "../../client/client-error.ts";
import { createWorld } from "../../modules/agentcli/create-world.ts";
import {
  type Failure,
  failure,
  failureData,
  invalidArgument,
  isFailure,
} from "../../modules/agentcli/failure.ts";
import type { MethodContext, MethodDefaults } from "../../modules/agentcli/methods/method.ts";
import { findMethod } from "../../modules/agentcli/methods/method-table.ts";
import { MANIFEST_BOUNDS } from "../../modules/agentcli/protocol/answer-line.ts";
import { jsonText, printJson } from "../shell/print-json.ts";
import { defuseJson, type Terminal } from "../shell/terminal.ts";
import { placeFile } from "../shell/write-files.ts";

export interface CallLine {
  readonly method: string;
  readonly params: JsonRecord;
  readonly manifest?: string;
  /** The member of the result to write to a file, and the file. */
  readonly write?: { readonly member: string; readonly file: string } | undefined;
  readonly isNdjson: boolean;
}

/** Makes the call, prints the result, and returns the exit code. */
export async function runCall(line: CallLine, terminal: Terminal): Promise<number> {
  const { environment, directory, err } = terminal;
  const context = {
    world: createWorld(environment, directory),
    defaults: readDefaults(environment, undefined),
  };
  const form = readForm(line, environment);
  const outcome = isFailure(form) ? form : await callMethod(line, context, terminal);
  if (isFailure(outcome)) {
    const said = { ok: false, error: outcome.message, ...failureData(outcome) };
    printJson(said, err);
    return 1;
  }
  terminal.out.write(defuseJson(print(outcome, form === "ndjson"), terminal.out));
  return 0;
}

/** The output's form, from the command line, else from the environment. */
function readForm({ isNdjson }: CallLine, env: Environment): "json" | "ndjson" | Failure {
  const { AGENTCLI_OUTPUT: wanted = "" } = env;
  if (wanted !== "" && wanted !== "json" && wanted !== "ndjson") {
    const accepted = "Accepted values: json, ndjson";
    return invalidArgument(`Unknown AGENTCLI_OUTPUT value: ${wanted}. ${accepted}`);
  }
  return isNdjson || wanted === "ndjson" ? "ndjson" : "json";
}

/** Reads defaults from the environment for options that the command line omits. */
export function readDefaults(env: Environment, db: string | undefined): MethodDefaults {
  const dbPath = db ?? env["AGENTCLI_SCHEDULER_DB"];
  const { AGENTCLI_SCHEDULER_PREFIX: prefix, AGENTCLI_SCHEDULER_BIN: bin } = env;
  const { AGENTCLI_TARGET: target } = env;
  return {
    ...(dbPath === undefined || dbPath === "" ? {} : { dbPath }),
    ...(prefix === undefined || prefix === "" ? {} : { schedulerPrefix: prefix }),
    ...(bin === undefined || bin === "" ? {} : { schedulerBin: bin }),
    ...(target === undefined || target === "" ? {} : { target }),
  };
}

async function callMethod(
  line: CallLine,
  context: MethodContext,
  terminal: Terminal,
): Promise<JsonRecord | Failure> {
  const method = findMethod(line.method);
  if (method === undefined) throw new Error(`no method ${line.method}`);
  const params = await readParams(line, terminal);
  if (isFailure(params)) return params;
  const result = await method(params, context);
  if (isFailure(result)) return result;
  if (line.method === "agentcli.validate" && result["ok"] !== true) {
    const { ok, errors, warnings } = result as never;
    return failure("validation_error", "Manifest validation failed", {
      validation: { ok, errors, warnings },
    });
  }
  if (line.write === undefined) return result;
  const { file, member } = line.write;
  const written = writeArtifact(file, terminal.directory, result[member]);
  return isFailure(written) ? written : { ...result, written_to: written };
}

async function readParams(
  { params, manifest }: CallLine,
  terminal: Terminal,
): Promise<JsonRecord | Failure> {
  if (manifest === undefined) return params;
  try {
    const read = await readManifestInput(manifest, terminal);
    return isFailure(read) ? read : { ...params, manifest: read.value };
  } catch (error) {
    if (!(error instanceof AgtpClientError)) throw error;
    return invalidArgument(error.message);
  }
}

function print(result: JsonRecord, isNdjson: boolean): string {
  const { items } = result;
  if (!isNdjson) return jsonText(result);
  const lines: readonly unknown[] = Array.isArray(items) ? items : [result];
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

const MAX_BYTES = 16 * 1024 * 1024;

/** The parsed value, which may be any JSON. */
interface ManifestInput {
  readonly kind: "input";
  readonly value: unknown;
}

async function readManifestInput(
  source: string,
  { directory, readInput }: Pick<Terminal, "directory" | "readInput">,
): Promise<ManifestInput | Failure> {
  if (/^\s*[[{]/.test(source)) return parse(source, "the command line");
  if (source === "-") return parse(await readInput(MAX_BYTES), "standard input");
  const { text, fault } = readBoundedFile(resolve(directory, source), MAX_BYTES);
  if (text === undefined) return invalidArgument(`Input not found: ${source} ${fault}`);
  return parse(text, source);
}

function parse(text: string, where: string): ManifestInput | Failure {
  const excess = jsonExcess(Buffer.from(text), MANIFEST_BOUNDS);
  if (excess !== undefined) return invalidArgument(`The JSON in ${where} ${excess}`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return invalidArgument(`Invalid JSON in ${where}: ${reasonOf(error)}`);
  }
  // A daemon would refuse the file.
  const repeated = findRepeatedMember(text);
  if (repeated === undefined) return { kind: "input", value };
  return invalidArgument(`The JSON in ${where} has ${quoteValue(repeated)} twice in one object`);
}

/**
 * Writes JSON to a file in the current directory or below it, atomically, and creates missing
 * directories; returns the absolute path. Links that lead out of the directory are not followed.
 */
function writeArtifact(file: string, directory: string, value: unknown): string | Failure {
  try {
    const root = realpathSync(directory);
    const wanted = dirname(resolve(root, file));
    if (!isWithin(root, nearestPlace(wanted))) {
      return invalidArgument(`Output path is outside the current working directory: ${file}`);
    }
    makeDirectory(wanted);
    // A link at the path itself is replaced, not followed.
    const path = join(realpathSync(wanted), basename(file));
    placeFile(path, jsonText(value), 0o666);
    return path;
  } catch (error) {
    return invalidArgument(`Output cannot be written: ${reasonOf(error)}`);
  }
}

/** The existing part of a path, with links resolved; a dangling link is a fault. */
function nearestPlace(path: string): string {
  const isThere = lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  return isThere || dirname(path) === path ? realpathSync(path) : nearestPlace(dirname(path));
}
