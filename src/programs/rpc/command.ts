/**
 * `agtp-rpc`: the protocol on standard input and output, or one command of it. Results are JSON on
 * standard output; what went wrong is JSON on standard error, and the exit code is 1.
 */
import type { Readable, Writable } from "node:stream";
import type { Environment } from "../../base/environment.ts";
import type { JsonRecord } from "../../base/json-value.ts";
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
import { findMethod, targetsResult } from "../../modules/agentcli/methods/method-table.ts";
import { serveProtocol } from "../../modules/agentcli/protocol/serve.ts";
import { defuseLine, type Terminal } from "../shell/terminal.ts";
import { parseCommandLine } from "./command-line.ts";
import type { CallLine } from "./commands.ts";
import { readManifestInput } from "./manifest-input.ts";
import { writeArtifact } from "./write-artifact.ts";

/** The terminal, and what serving takes beyond it. */
export interface RpcTerminal extends Terminal {
  readonly input: Readable;
  readonly output: Writable;
  readonly env: Environment;
}

/** Runs the program and answers its exit code. */
export async function runRpcCommand(
  args: readonly string[],
  terminal: RpcTerminal,
): Promise<number> {
  const line = parseCommandLine(args, terminal);
  if (line.kind === "end") return line.exitCode;
  const { env, directory, input, output, err } = terminal;
  const world = createWorld(env, directory);
  if (line.kind === "serve") {
    const defaults = readDefaults(env, line.db);
    const report = (error: unknown): void =>
      err.write(
        `agtp-rpc: ${defuseLine(error instanceof Error ? (error.stack ?? "") : reasonOf(error))}\n`,
      );
    await serveProtocol({ world, defaults, input, output, report });
    return 0;
  }
  const form = readForm(line, env);
  const outcome = isFailure(form)
    ? form
    : await runCall(line, { world, defaults: readDefaults(env, undefined) }, terminal);
  if (isFailure(outcome)) {
    const said = { ok: false, error: outcome.message, ...failureData(outcome) };
    err.write(`${JSON.stringify(said, null, 2)}\n`);
    return 1;
  }
  terminal.out.write(print(outcome, form === "ndjson"));
  return 0;
}

/** How results are printed: the command line's word, or else that of the environment. */
function readForm({ isNdjson }: CallLine, env: Environment): "json" | "ndjson" | Failure {
  const { AGENTCLI_OUTPUT: wanted = "" } = env;
  if (wanted !== "" && wanted !== "json" && wanted !== "ndjson") {
    const accepted = "Accepted values: json, ndjson";
    return invalidArgument(`Unknown AGENTCLI_OUTPUT value: ${wanted}. ${accepted}`);
  }
  return isNdjson || wanted === "ndjson" ? "ndjson" : "json";
}

/** What the environment says where the command line does not. */
function readDefaults(env: Environment, db: string | undefined): MethodDefaults {
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

async function runCall(
  line: CallLine,
  context: MethodContext,
  terminal: RpcTerminal,
): Promise<JsonRecord | Failure> {
  if (line.method === "targets") return targetsResult();
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
  return isFailure(written) ? written : { ...result, written_to: written.path };
}

async function readParams(
  { params, manifest }: CallLine,
  terminal: RpcTerminal,
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
  if (!isNdjson) return `${JSON.stringify(result, null, 2)}\n`;
  const lines: readonly unknown[] = Array.isArray(items) ? items : [result];
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}
