/** The world of a real process: its directory, clock, programs and JSON client. */
import { hostname, userInfo } from "node:os";
import type { Environment } from "../../base/environment.ts";
import type { JsonRecord } from "../../base/json-value.ts";
import { killGroup, ProcessGroups } from "../../base/process-groups.ts";
import { codeOf, reasonOf } from "../../base/thrown.ts";
import {
  createHttpClient,
  type HttpClient,
  readBoundedBody,
} from "../../handlers/connection-options.ts";
import { KeySets } from "./governance/keys.ts";
import type { AskJson, JsonAnswer, ProgramCall, ProgramEnd, World } from "./world.ts";

/** Creates the world; relative paths start in the directory. */
export function createWorld(
  env: Environment,
  directory: string,
  groups: ProcessGroups = new ProcessGroups(),
): World {
  const askJson = createAskJson();
  const set = Object.entries(env).filter((entry): entry is [string, string] => {
    return entry[1] !== undefined;
  });
  return {
    ...{ env: Object.fromEntries(set), directory, operator: operatorName() },
    ...{ askJson, keySets: new KeySets(askJson) },
    runProgram: (call) => runProgram(call, groups),
  };
}

/** The user may have no name. */
function operatorName(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    return `${process.getuid?.() ?? "unknown"}@${hostname()}`;
  }
}

const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
/** The wait for processes that outlive the program and hold its streams open. */
const STREAMS_MS = 1_000;

/**
 * Runs a program to its end and resolves with its output. It has no shell, bounded output, and its own process group,
 * which is killed on timeout or excess output. Children of a program that ended by itself survive.
 */
export function runProgram(
  call: ProgramCall,
  groups: ProcessGroups = new ProcessGroups(),
): Promise<ProgramEnd> {
  const started = groups.start(call);
  if (started.kind === "fault") return Promise.resolve(started);
  const { child } = started;
  return new Promise((resolve) => {
    const { timeoutMs, input } = call;
    const stdout = collect(child.stdout, () => end("put out too much"));
    const stderr = collect(child.stderr, () => end("put out too much"));
    let cause: string | undefined;
    const end = (reason: string): void => {
      cause ??= reason;
      killGroup(child.pid);
    };
    const timer = setTimeout(() => end(`took more than ${timeoutMs} ms`), timeoutMs);
    let grace: NodeJS.Timeout | undefined;
    child.on("error", (error) => {
      clearTimeout(timer);
      const why = codeOf(error) === "ENOENT" ? "program not found" : reasonOf(error);
      resolve({ kind: "fault", message: why });
    });
    child.on("exit", () => {
      grace = setTimeout(() => {
        child.stdout?.destroy();
        child.stderr?.destroy();
      }, STREAMS_MS);
    });
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      clearTimeout(grace);
      if (cause !== undefined) resolve({ kind: "fault", message: cause });
      else if (code === null) resolve({ kind: "fault", message: `ended by ${signal}` });
      else resolve({ kind: "exit", code, stdout: stdout(), stderr: stderr() });
    });
    // A program need not read its input.
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(input ?? "");
  });
}

function collect(stream: NodeJS.ReadableStream | undefined, onOverflow: () => void): () => string {
  const chunks: Buffer[] = [];
  let length = 0;
  stream?.on("data", (chunk: Buffer) => {
    length += chunk.length;
    if (length > MAX_OUTPUT_BYTES) onOverflow();
    else chunks.push(chunk);
  });
  return () => Buffer.concat(chunks).toString("utf8");
}

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 1_048_576;
const MAX_CONNECTIONS = 16;

/** Creates the JSON client. It loads the HTTP client on first use; idle connections close by themselves. */
export function createAskJson(): AskJson {
  const needs = { connections: MAX_CONNECTIONS, connectTimeoutMs: TIMEOUT_MS };
  const client = createHttpClient(needs);
  return async (url, body) => {
    try {
      return await ask(client, url, body);
    } catch (error) {
      return fault(error instanceof SyntaxError ? "answered no JSON" : reasonOf(error));
    }
  };
}

async function ask(
  client: HttpClient,
  url: string,
  body: JsonRecord | undefined,
): Promise<JsonAnswer> {
  const response = await client.request(url, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      accept: "application/json",
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const { statusCode, headers } = response;
  const octets = await readBoundedBody(MAX_BYTES, response);
  if (statusCode !== 200) return fault(`answered HTTP ${statusCode}`);
  if (octets === undefined) return fault(`answered more than ${MAX_BYTES} bytes`);
  const value = JSON.parse(octets.toString("utf8")) as unknown;
  return { kind: "json", value, maxAgeSeconds: maxAgeOf(headers["cache-control"]) };
}

function maxAgeOf(header: string | string[] | undefined): number | undefined {
  const [, seconds] = /(?:^|,)\s*max-age=(\d{1,9})/i.exec(String(header ?? "")) ?? [];
  return seconds === undefined ? undefined : Number(seconds);
}

function fault(message: string): JsonAnswer {
  return { kind: "fault", message };
}
