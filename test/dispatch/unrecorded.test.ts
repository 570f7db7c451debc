/** What leaves in the place of a reply whose record is not known to be kept. */
import { expect, it } from "vitest";
import { asRecorded } from "../../src/dispatch/unrecorded.ts";
import type { Response } from "../../src/wire/message.ts";

const FIELDS = [
  ...["Server-ID: s", "AGTP-API-Version: 1.0", "Response-ID: r", "Agent-ID: a", "Request-ID: q"],
  ...["Location: /secret", "Idempotency-Replayed: true", "Content-Type: text/plain"],
];

function replyWith(isKnown: boolean): Response {
  const fields = FIELDS.map((line) => `${line}\r\n`).join("");
  const lateFields = { isKnown, lines: "Audit-ID: 1\r\n" };
  return { status: 200, responseId: "r", fields, lateFields, body: "done: 42" };
}

it("leaves a reply as it is whose record is kept, or that has none", () => {
  const kept = replyWith(true);
  expect(asRecorded(kept)).toBe(kept);
  const { lateFields: _, ...bare } = kept;
  expect(asRecorded(bare)).toBe(bare);
});

it("says of a reply without its record whose answer it is to what, and nothing of the answer", () => {
  const { status, responseId, fields, lateFields, body } = asRecorded(replyWith(false));
  expect([status, responseId, lateFields]).toEqual([503, "r", undefined]);
  expect(fields.trimEnd().split("\r\n")).toEqual([
    ...FIELDS.slice(0, 5),
    "Retry-After: 1",
    "Content-Type: application/vnd.agtp+json",
  ]);
  expect(JSON.parse(String(body))).toMatchObject({ error: { code: "outcome-unknown" } });
});
