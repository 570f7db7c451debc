/**
 * Asks a policy engine or a key set over HTTP: ten seconds, a mebibyte, no redirect, and nothing of
 * the caller's goes along but the body.
 */
import type { JsonRecord } from "../../json-value.ts";
import { reasonOf } from "../../thrown.ts";
import type { JsonAnswer } from "./world.ts";

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 1_048_576;

/** One question. Loads the HTTP client on first use. */
export async function askJson(url: string, body?: JsonRecord): Promise<JsonAnswer> {
  const { request } = await import("undici");
  try {
    const response = await request(url, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        accept: "application/json",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await readBounded(response.body);
    if (response.statusCode !== 200) return fault(`answered HTTP ${response.statusCode}`);
    if (text === undefined) return fault(`answered more than ${MAX_BYTES} bytes`);
    const maxAgeSeconds = maxAgeOf(response.headers["cache-control"]);
    return { kind: "json", value: JSON.parse(text) as unknown, maxAgeSeconds };
  } catch (error) {
    return fault(error instanceof SyntaxError ? "answered no JSON" : reasonOf(error));
  }
}

async function readBounded(body: AsyncIterable<Buffer>): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > MAX_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function maxAgeOf(header: string | string[] | undefined): number | undefined {
  const [, seconds] = /(?:^|,)\s*max-age=(\d{1,9})/i.exec(String(header ?? "")) ?? [];
  return seconds === undefined ? undefined : Number(seconds);
}

function fault(message: string): JsonAnswer {
  return { kind: "fault", message };
}
