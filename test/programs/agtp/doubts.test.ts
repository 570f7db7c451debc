import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { ClientResponse } from "../../../src/client/agtp-client.ts";
import { doubtsAbout } from "../../../src/programs/agtp/report.ts";
import { signManifest } from "../../support/manifests.ts";
import { sha256 } from "../../support/records.ts";

const { privateKey } = generateKeyPairSync("ed25519");
const MANIFEST = { agtp_version: "1.0", manifest_signature: null };
const SIGNED = { ...MANIFEST, manifest_signature: signManifest(MANIFEST, privateKey) };

function makeResponse(
  headers: Readonly<Record<string, string>>,
  body: unknown = {},
  status = 200,
): ClientResponse {
  const text = JSON.stringify(body);
  const fields = new Map(Object.entries(headers));
  return { status, statusText: "", headers: fields, body, text, bytes: Buffer.from(text) };
}

function manifest(body: unknown, status = 200): ClientResponse {
  const type = { "content-type": "application/vnd.agtp.manifest+json; charset=utf-8" };
  return makeResponse(type, body, status);
}

// AGTP-API §8.8, AGTP-IDENTIFIERS "Attribution-Record"
describe("doubtsAbout", () => {
  it("has none about a response that holds together", () => {
    const record = "e30.e30.";
    const headers = { "attribution-record": record, "audit-id": sha256(record) };
    expect(doubtsAbout(makeResponse(headers))).toEqual([]);
    expect(doubtsAbout(makeResponse({}))).toEqual([]);
    expect(doubtsAbout(manifest(SIGNED))).toEqual([]);
  });

  it("says when the Audit-ID is not the record's", () => {
    const headers = { "attribution-record": "e30.e30.", "audit-id": sha256("another") };
    expect(doubtsAbout(makeResponse(headers))).toEqual([
      "the Audit-ID is not that of the Attribution-Record",
    ]);
  });

  it("says when a manifest is not signed, or not by what it says", () => {
    expect(doubtsAbout(manifest(MANIFEST))).toEqual(["the manifest is not signed"]);
    expect(doubtsAbout(manifest({ ...SIGNED, agtp_version: "9" }))).toEqual([
      "the manifest's signature is over another manifest",
    ]);
  });

  it.each([
    ["another status", manifest(MANIFEST, 404)],
    ["another type", makeResponse({ "content-type": "application/vnd.agtp+json" }, MANIFEST)],
    ["no object", manifest([])],
  ])("takes nothing of %s for a manifest", (_, response) => {
    expect(doubtsAbout(response)).toEqual([]);
  });
});
