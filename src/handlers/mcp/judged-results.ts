/**
 * Validates the results of tools part by part, in slices. The library validates all parts in one
 * go, with an error for each wrong one: a hundred thousand of them would block the loop for a
 * minute.   MCP "Tool Result"
 */
import { type Client, type StandardSchemaV1, specTypeSchemas } from "@modelcontextprotocol/client";
import { isRecord, type JsonRecord, recordIn } from "../../base/json-value.ts";
import { inSlices, type Paced } from "../../base/paced.ts";

/** Makes a client validate tool results part by part. */
export function judgeByParts(client: Client): void {
  const request = client.request.bind(client) as (...all: readonly unknown[]) => unknown;
  const judging: StandardSchemaV1 = {
    "~standard": {
      ...{ version: 1, vendor: "agtpd" },
      validate: async (result) => {
        const isOlder = client.getProtocolEra() !== "modern";
        const judged = await inSlices(judgingResult(recordIn(result), isOlder));
        return judged === undefined ? { issues: [{ message: "no result of a tool" }] } : judged;
      },
    },
  };
  // Why here: the library's `callTool` goes through `request`.
  client.request = ((asked: { readonly method: string }, ...rest: readonly unknown[]) =>
    request(asked, ...(asked.method === "tools/call" ? [judging, ...rest] : rest))) as never;
}

interface Judged {
  readonly value: JsonRecord;
}

/** The result with its validated parts; undefined if it is not a tool's result. */
function* judgingResult(result: JsonRecord, isOlder: boolean): Paced<Judged | undefined> {
  const { content, structuredContent, isError, _meta } = result;
  if (isError !== undefined && typeof isError !== "boolean") return undefined;
  if (_meta !== undefined && !isRecord(_meta)) return undefined;
  if (isOlder && structuredContent !== undefined && !isRecord(structuredContent)) return undefined;
  if (!Array.isArray(content)) return undefined;
  const parts: unknown[] = [];
  for (const part of content) {
    const outcome = PART.validate(part);
    if (!("value" in outcome)) return undefined;
    parts.push(outcome.value);
    yield;
  }
  return { value: { ...result, content: parts } };
}

const PART = specTypeSchemas.ContentBlock["~standard"];
