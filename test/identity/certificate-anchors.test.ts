import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  checkTrustAnchor,
  readTrustAnchors,
} from "../../src/identity/client-certificate-verification.ts";
import {
  CA_EXTENSIONS,
  CLIENT_EXTENSIONS,
  type OpensslCertificate,
  OpensslPki,
} from "../support/openssl-pki.ts";

const NOW = Date.UTC(2026, 0, 1);

let pki: OpensslPki;
let root: OpensslCertificate;

beforeAll(() => {
  pki = new OpensslPki();
  root = pki.make("root", { extensions: CA_EXTENSIONS });
});
afterAll(() => pki.remove());

describe("readTrustAnchors", () => {
  it("reads every certificate of a bundle, and nothing between them", () => {
    const other = pki.make("other", { extensions: CA_EXTENSIONS });
    const anchors = readTrustAnchors(`# root\n${root.cert}\nsubject=x\n${other.key}${other.cert}`);
    expect(anchors.map(({ subject }) => subject)).toEqual(["CN=root", "CN=other"]);
    expect(readTrustAnchors("")).toEqual([]);
  });
});

describe("checkTrustAnchor", () => {
  it("finds nothing wrong with a CA, root or not, and a self-signed client", () => {
    const sub = pki.make("sub", { issuer: "root", extensions: CA_EXTENSIONS });
    const pinned = pki.make("pinned", { extensions: CLIENT_EXTENSIONS.slice(0, 3) });
    for (const { x509 } of [root, sub, pinned]) expect(checkTrustAnchor(x509, NOW)).toBeUndefined();
  });

  it.each([
    ["a client's that a CA issued", { issuer: "root" }, "is no CA by its basicConstraints"],
    [
      "a CA's that expired",
      { extensions: CA_EXTENSIONS, notAfter: "20250101000000Z" },
      "expired at 2025-01-01T00:00:00.000Z",
    ],
    [
      "a server's that is self-signed",
      { extensions: ["extendedKeyUsage = serverAuth"] },
      "is no CA by its basicConstraints",
    ],
  ])("finds the fault in one that nobody is trusted by: %s", (name, options, fault) => {
    const { x509 } = pki.make(name.replaceAll(/\W/g, "-"), options);
    expect(checkTrustAnchor(x509, NOW)).toEqual({ fault });
  });
});
