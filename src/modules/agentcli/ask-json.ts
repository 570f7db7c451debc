/**
 * Asks a policy engine or a key set over HTTP: ten seconds, a mebibyte, no redirect, and nothing of
 * the caller's goes along but the body.
 */
import type { Agent } from "undici";
import type { JsonRecord } from "../../base/json-value.ts";
import { loadLate } from "../../base/late-load.ts";
import { reasonOf } from "../../base/thrown.ts";
import { readBoundedBody } from "../../handlers/bounded-body.ts";
import { connectionOptions } from "../../handlers/connection-options.ts";
import type { AskJson, JsonAnswer } from "./world.ts";

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 1_048_576;
const MAX_CONNECTIONS = 16;

/** A way to ask. Loads the HTTP client on first use; connections that nobody uses close by themselves. */
export function createAskJson(): AskJson {
  const agent = loadLate(openAgent);
  return async (url, body) => {
    try {
      return await ask(await agent(), url, body);
    } catch (error) {
      return fault(error instanceof SyntaxError ? "answered no JSON" : reasonOf(error));
    }
  };
}

async function openAgent(): Promise<Agent> {
  const undici = await import("undici");
  const needs = { connections: MAX_CONNECTIONS, connectTimeoutMs: TIMEOUT_MS };
  return new undici.Agent(connectionOptions(needs));
}

async function ask(agent: Agent, url: string, body: JsonRecord | undefined): Promise<JsonAnswer> {
  const { origin, pathname, search } = new URL(url);
  const { statusCode, headers, ...response } = await agent.request({
    ...{ origin, path: `${pathname}${search}`, method: body === undefined ? "GET" : "POST" },
    headers: {
      accept: "application/json",
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    body: body === undefined ? null : JSON.stringify(body),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  // A body that is given up fails once more when it ends, with nobody left to be told.
  response.body.on("error", () => undefined);
  const octets = await readBoundedBody(MAX_BYTES, { body: response.body, headers });
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
