/** The fields that every answer of the console carries, and its answer to what is no request at all. */
import type { HttpAnswer } from "../../dispatch/module/http-gateway.ts";
import type { WireFault, WireFaultCode } from "../../wire/message.ts";
import type { PageFiles } from "./page-files.ts";

/** Field lines by lower-case name. */
export type AnswerFields = Readonly<Record<string, string>>;

const FIELDS = {
  "x-content-type-options": "nosniff",
  // Without it a browser says "null" for the Origin of the form that signs in.
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
} as const;

/** Of every answer: scripts of this console alone, and of those in a document the one with this hash. */
export function answerFields({ scriptHash }: PageFiles): AnswerFields {
  const policy =
    `default-src 'none'; script-src 'self' '${scriptHash}'; style-src 'self'; img-src 'self' data:; ` +
    "font-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
  return { "content-security-policy": policy, ...FIELDS };
}

const STATUS: Readonly<Partial<Record<WireFaultCode, number>>> = {
  "header-too-large": 431,
  "request-timeout": 408,
};

/** The answer to octets that are no request of HTTP. */
export function faultAnswer({ code, message }: WireFault, fields: AnswerFields): HttpAnswer {
  const all = { ...fields, "content-type": "application/json; charset=utf-8" };
  return {
    status: STATUS[code] ?? 400,
    fields: new Map(Object.entries(all).map(([name, value]) => [name, [value]])),
    body: JSON.stringify({ error: { code, message } }),
  };
}
