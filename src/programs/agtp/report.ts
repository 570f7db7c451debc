/**
 * Prints a response for `agtp`: the result on standard output, verbatim or formatted for a person;
 * warnings and the reason of a refusal on standard error.
 */

import { hash } from "node:crypto";
import pc from "picocolors";
import { memberAt } from "../../base/dotted-key.ts";
import { rewriteExactly } from "../../base/exact-numbers.ts";
import { isRecord } from "../../base/json-value.ts";
import type { ClientResponse } from "../../client/agtp-client.ts";
import { isAccepted } from "../../client/exchange.ts";
import { MANIFEST_TYPE, verifyManifest } from "../../identity/manifest-signature.ts";
import { jsonText } from "../shell/print-json.ts";
import { defuse, defuseJson, defuseLine, type Output, type Terminal } from "../shell/terminal.ts";

type Colours = ReturnType<typeof pc.createColors>;

/** Deprecation of a method and of an endpoint.   AGTP-API §9.3 */
const WARNING_FIELDS = ["agtp-catalog-warning", "agtp-endpoint-warning"];

/** Prints a response. */
export function printResponse(
  response: ClientResponse,
  { json = false, include = false }: { readonly json?: boolean; readonly include?: boolean },
  { out, err }: Terminal,
): void {
  const colours = pc.createColors(out.hasColour);
  if (json) out.write(defuseJson(recordText(response), out));
  else
    out.write(`${include ? head(response, out, colours) : ""}${bodyText(response, out, colours)}`);
  printMessages(response, err);
}

function printMessages(response: ClientResponse, err: Output): void {
  const colours = pc.createColors(err.hasColour);
  for (const name of WARNING_FIELDS) {
    const value = response.headers.get(name);
    if (value === undefined) continue;
    err.write(`${colours.yellow("warning:")} ${name}: ${defuseLine(value)}\n`);
  }
  for (const doubt of doubtsAbout(response)) {
    err.write(`${colours.yellow("warning:")} ${defuseLine(doubt)}\n`);
  }
  if (isAccepted(response.status)) return;
  const line = [`${response.status} ${response.statusText}`.trim(), ...reasons(response.body)];
  err.write(`${colours.red("refused:")} ${defuseLine(line.join(": "))}\n`);
}

/** The error code and explanation, from any of the places where servers put them. */
function reasons(body: unknown): string[] {
  const error = memberAt(body, "error");
  const code = memberAt(error, "code") ?? memberAt(body, "reason") ?? memberAt(body, "type");
  const text =
    memberAt(error, "message") ??
    memberAt(error, "explanation") ??
    memberAt(error, "detail") ??
    memberAt(body, "explanation");
  return [code, text].filter((reason) => typeof reason === "string");
}

function recordText({ status, headers: fields, body, text }: ClientResponse): string {
  const headers = Object.fromEntries(fields);
  const record = (said: unknown): object => ({ status, headers, body: said });
  if (body !== undefined) return `${rewriteExactly(Buffer.from(text), record, 2)}\n`;
  return jsonText(record(text === "" ? null : text));
}

function head(response: ClientResponse, out: Output, colours: Colours): string {
  const { status, statusText, headers } = response;
  const paint = isAccepted(status) ? colours.green : colours.red;
  const show = (text: string): string => (out.isTerminal ? defuse(text) : text);
  const fields = [...headers].map(([name, value]) => `${colours.cyan(name)}: ${show(value)}\n`);
  const line = paint(show(`AGTP/1.0 ${status} ${statusText}`.trimEnd()));
  return `${line}\n${fields.join("")}\n`;
}

/** The body for a person: formatted JSON, without control characters for the terminal. */
function bodyText({ body, text }: ClientResponse, out: Output, colours: Colours): string {
  if (text === "") return "";
  if (!out.isTerminal) return text.endsWith("\n") ? text : `${text}\n`;
  if (body === undefined) return `${defuse(text)}\n`;
  return `${paintJson(defuse(rewriteExactly(Buffer.from(text), (same) => same, 2)), colours)}\n`;
}

function paintJson(text: string, colours: Colours): string {
  const token = /("(?:\\.|[^"\\])*")(:)?|\b(?:true|false|null)\b|-?\d[\d.eE+-]*/g;
  return text.replace(token, (whole, string?: string, colon?: string) => {
    if (colon !== undefined) return `${colours.cyan(string ?? "")}:`;
    return string === undefined ? colours.yellow(whole) : colours.green(whole);
  });
}

/**
 * Doubts about a response, each a sentence: an Audit-ID that differs from its record's, a manifest
 * whose signature is missing or invalid. The response stays usable.
 * AGTP-API §8.8, AGTP-IDENTIFIERS "Attribution-Record"
 */
export function doubtsAbout(response: ClientResponse): readonly string[] {
  return [...auditDoubts(response), ...manifestDoubts(response)];
}

function auditDoubts({ headers }: ClientResponse): readonly string[] {
  const record = headers.get("attribution-record");
  const auditId = headers.get("audit-id");
  if (record === undefined || auditId === undefined) return [];
  const derived = hash("sha256", Buffer.from(record, "latin1"));
  return derived === auditId ? [] : ["the Audit-ID is not that of the Attribution-Record"];
}

function manifestDoubts({ status, headers, body }: ClientResponse): readonly string[] {
  const type = headers.get("content-type") ?? "";
  if (status !== 200 || !type.startsWith(MANIFEST_TYPE) || !isRecord(body)) return [];
  const verdict = verifyManifest(body);
  switch (verdict.kind) {
    case "unsigned":
      return ["the manifest is not signed"];
    case "invalid":
      return [`the manifest's signature ${verdict.fault}`];
    case "verified":
    case "intact":
      return [];
  }
}
