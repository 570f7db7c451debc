import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { DelegationSections } from "../../../src/modules/delegation/config.ts";
import { readPeers } from "../../../src/modules/delegation/peers.ts";
import { serverKey } from "../../support/delegation.ts";
import { makeDirectory } from "../../support/directory.ts";
import { OpensslPki } from "../../support/openssl-pki.ts";

const pki = new OpensslPki();
afterAll(() => pki.remove());
const [annex, other] = [pki.make("annex"), pki.make("other")];
const FILES = {
  ...{ "annex.pem": annex.cert, "annex.key": annex.key, "other.key": other.key },
  ...{ "empty.pem": "", "notes.pem": "not a certificate\n" },
};

function read(files: Readonly<Record<string, string>>) {
  const directory = makeDirectory(FILES);
  const paths = Object.entries(files).map(([key, name]) => [key, join(directory, name)]);
  const peer = {
    ...{ name: "annex", serverId: "annex.example", publicKey: serverKey(51).text },
    ...{ uri: "agtp://annex.example", agents: [], scopes: [], acceptScopes: [] },
    ...{ timeoutSeconds: 30, maxConnections: 4, ...Object.fromEntries(paths) },
  };
  const place = { directory, file: join(directory, "agtp-server.toml") };
  return readPeers({ ...place, peers: [peer] } as unknown as DelegationSections);
}

// AGTP "DELEGATE"
describe("the files of a peer", () => {
  it("say whom to trust, and what to show", () => {
    const { peers, problems } = read({ ca: "annex.pem", cert: "annex.pem", key: "annex.key" });
    expect(problems).toEqual([]);
    expect(peers[0]?.address).toMatchObject({
      ...{ host: "annex.example", ca: annex.cert, cert: annex.cert, key: annex.key },
    });
  });

  it.each([
    ["ca", { ca: "empty.pem" }, /holds no PEM certificate, or one that is damaged$/],
    ["ca", { ca: "notes.pem" }, /holds no PEM certificate, or one that is damaged$/],
    ["cert", { cert: "empty.pem", key: "annex.key" }, /^must be a certificate in PEM$/],
    ["key", { cert: "annex.pem", key: "notes.pem" }, /^must be a private key in PEM/],
    ["key", { cert: "annex.pem", key: "other.key" }, /^is not the certificate's key$/],
  ])("are refused at their key: %s of %j", (key, files, message) => {
    expect(read(files).problems).toMatchObject([
      { file: "agtp-server.toml", key: `peers[0].${key}`, message: expect.stringMatching(message) },
    ]);
  });
});
