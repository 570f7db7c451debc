/** Responses as a peer receives them, and their header fields taken apart. */
import type { HeaderField } from "../../src/wire/fields.ts";
import { fieldLines, type Response, serializeResponses } from "../../src/wire/message.ts";

/** A response in the words of a test. */
interface TestResponse {
  readonly status: number;
  readonly headers?: readonly HeaderField[];
  readonly body?: string | Uint8Array;
}

/** The octets of a batch. */
export function responseBytes(responses: readonly TestResponse[]): Buffer {
  return sentBytes(responses.map(makeResponse));
}

/** The octets of what the dispatcher answered. */
export function sentBytes(responses: readonly Response[]): Buffer {
  const sent = serializeResponses(responses);
  return typeof sent === "string" ? Buffer.from(sent, "latin1") : sent;
}

/** Header fields by the names they are sent under, in their order. */
export function fieldsOf({ fields }: Response): Readonly<Record<string, string>> {
  const lines = fields.split("\r\n").slice(0, -1);
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(": ");
      return [line.slice(0, colon), line.slice(colon + 2)];
    }),
  );
}

/** A response with the parts that are not given empty. */
export function makeResponse({ status, headers = [], body = "" }: TestResponse): Response {
  return { status, responseId: "", fields: fieldLines(headers), body };
}
