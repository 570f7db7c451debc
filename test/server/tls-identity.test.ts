import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadConfig } from "../../src/app/config/load.ts";
import { loadTlsIdentity } from "../../src/server/tls-identity.ts";
import { makeCertificate } from "../support/certificate.ts";
import { configFile } from "../support/deployment.ts";
import { makeDirectory } from "../support/directory.ts";
import { CA_EXTENSIONS, CLIENT_EXTENSIONS, OpensslPki } from "../support/openssl-pki.ts";

let pki: OpensslPki;

beforeAll(() => {
  pki = new OpensslPki();
});
afterAll(() => pki.remove());

/** Loads the identity of a deployment with these client CAs. */
async function load(clientCa: string) {
  const { cert, key } = await makeCertificate();
  const tls = {
    ...{ cert: "cert.pem", key: "key.pem" },
    ...{ client_auth: "required", client_ca: "ca.pem" },
  };
  const directory = makeDirectory({
    ...{ "cert.pem": cert, "key.pem": key, "ca.pem": clientCa },
    "agtp-server.toml": configFile({ tls }),
  });
  const { config } = loadConfig(join(directory, "agtp-server.toml"), {});
  if (config === undefined) throw new Error("the configuration does not load");
  return loadTlsIdentity(config, { isPersistent: false });
}

describe("loadTlsIdentity", () => {
  it("takes a bundle of CAs as it is", async () => {
    const bundle = ["one", "two"].map((name) => pki.make(name, { extensions: CA_EXTENSIONS }).cert);
    const { identity, problems } = await load(bundle.join(""));
    expect(problems).toEqual([]);
    expect(identity).toMatchObject({ clientAuth: "required", clientCa: bundle.join("") });
  });

  it("warns of certificates that vouch for nobody, and starts all the same", async () => {
    pki.make("ca", { extensions: CA_EXTENSIONS });
    const bundle = [
      pki.make("old", { extensions: CA_EXTENSIONS, notAfter: "20210101000000Z" }),
      pki.read("ca"),
      pki.make("client", { issuer: "ca", extensions: CLIENT_EXTENSIONS }),
    ];
    const { identity, problems } = await load(bundle.map(({ cert }) => cert).join(""));
    const place = { file: "agtp-server.toml", key: "tls.client_ca", severity: "warning" };
    const reasons = [
      "certificate 1 vouches for nobody: it expired at 2021-01-01T00:00:00.000Z",
      "certificate 3 vouches for nobody: it is no CA by its basicConstraints",
    ];
    expect(problems).toEqual(reasons.map((message) => ({ ...place, message })));
    expect(identity).toBeDefined();
  });

  it("refuses a file without a certificate", async () => {
    const { identity, problems } = await load("nonsense");
    expect(identity).toBeUndefined();
    expect(problems).toMatchObject([
      { key: "tls.client_ca", message: expect.stringContaining("holds no PEM") },
    ]);
  });
});
