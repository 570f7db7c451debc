import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Answer, reply, startPeer } from "../../support/agtp-peer.ts";
import { catalogJson } from "../../support/catalog-versions.ts";
import { openDaemon } from "../../support/daemon.ts";
import { ALICE, discoveryFiles } from "../../support/discovery.ts";
import { ISSUER, STRANGER } from "../../support/genesis.ts";
import { makeManifestProgram } from "../../support/manifest-program.ts";
import { signManifest } from "../../support/manifests.ts";

const MANIFEST_TYPE = "application/vnd.agtp.manifest+json";
const SERVER = { operator: "Acme", contact: "ops@acme.example" };
const SIGNING_KEY = String(ISSUER.privateKey.export({ format: "pem", type: "pkcs8" }));

/** The program, and the daemon that it may ask. */
async function serve(tables: Readonly<Record<string, object>> = {}, isSigned = true) {
  const signing = isSigned ? { signing: { key: "signing.pem" } } : {};
  const { daemon, directory } = await openDaemon({
    ...discoveryFiles({ server: SERVER, ...signing, ...tables }),
    "signing.pem": SIGNING_KEY,
  });
  const program = makeManifestProgram({
    "key.pem": ISSUER.pem,
    "signing.pem": SIGNING_KEY,
    "key.jwk": JSON.stringify({ kty: "OKP", crv: "Ed25519", x: ISSUER.text }),
    "keys.jwks": JSON.stringify({
      keys: [STRANGER, ISSUER].map(({ text: x }) => ({ kty: "OKP", crv: "Ed25519", x })),
    }),
    "issuer.genesis.json": JSON.stringify({ issuer_public_key: ISSUER.text }),
    "stranger.pem": STRANGER.pem,
    "nothing.json": "{}",
    "ca.pem": readFileSync(join(directory, ".agtp/tls/cert.pem")),
  });
  const uri = `agtp://localhost:${daemon.port}`;
  return { ...program, uri, ask: [uri, "--ca", "ca.pem"] };
}

/** A server that answers everything with one response. */
async function answerWith(answer: Answer | Buffer): Promise<readonly string[]> {
  const peer = await startPeer(
    typeof answer === "function" ? answer : (socket) => socket.write(answer),
  );
  onTestFinished(() => peer.close());
  return [`agtp://127.0.0.1:${peer.port}`, "--insecure"];
}

describe("agtp-manifest, asking our own daemon", () => {
  it("finds no fault, and nothing to warn of where it is signed", async () => {
    const { report, ask } = await serve();
    const { exitCode, err, json } = await report(...ask);
    expect([exitCode, err]).toEqual([0, ""]);
    expect(json).toMatchObject({
      ok: true,
      server_id: "test",
      catalog: "1.0.0",
      signature: { state: "intact" },
      faults: [],
      warnings: [],
    });
  });

  it("finds no fault whatever is configured", async () => {
    const { report, ask } = await serve(
      {
        server: { ...SERVER, domain: "agents.acme.example", document_version: "v7" },
        agents: { disclosure: "private", disclosure_notice: "Ask us." },
        policies: {
          methods: { custom: ["SALUTE"], allow: ["BOOK"], legacy: ["GET"], disallow: ["SELL"] },
          rcns: { enabled: true },
          synthesis_enabled: false,
        },
        apis: [{ name: "orders", base_url: "https://a.example", description: "Orders." }],
        hosted_protocols: [{ protocol: "mcp", method: "BOOK", path: "/room" }],
      },
      false,
    );
    const { json } = await report(...ask);
    expect(json).toMatchObject({ ok: true, faults: [], signature: { state: "unsigned" } });
    expect(json.warnings.map(({ pointer }) => pointer)).toEqual(["/manifest_signature"]);
  });

  it.each(["key.pem", "signing.pem", "key.jwk", "keys.jwks", "issuer.genesis.json", ISSUER.text])(
    "verifies who signed, by %s",
    async (key) => {
      const { report, ask } = await serve();
      const { json } = await report(...ask, "--key", key);
      expect(json).toMatchObject({ ok: true, signature: { state: "verified" } });
      expect(json.signature?.kid).toMatch(/^ed25519-[0-9a-f]{16}$/);
    },
  );

  it("says that another one signed, or nobody", async () => {
    const signed = await serve();
    const { exitCode, json } = await signed.report(...signed.ask, "--key", "stranger.pem");
    expect(exitCode).toBe(1);
    expect(json.faults).toMatchObject([
      { pointer: "/manifest_signature", clause: "AGTP-API §8.8", message: "does not verify" },
    ]);
    const either = ["--key", "stranger.pem", "--key", "key.pem"];
    expect((await signed.run(...signed.ask, ...either)).exitCode).toBe(0);
    const unsigned = await serve({}, false);
    const asked = await unsigned.report(...unsigned.ask, "--key", "key.pem");
    expect(asked.json.faults).toMatchObject([{ pointer: "/manifest_signature" }]);
  });

  // AGTP-API §8.5
  it("is shown hosted agents only as somebody, where they are for some", async () => {
    const { report, ask } = await serve({ agents: { disclosure: "authenticated" } });
    expect((await report(...ask)).json.faults).toEqual([]);
    expect((await report(...ask, "--agent-id", ALICE)).json.faults).toEqual([]);
  });

  // AGTP-API §8.7
  it("is refused where nobody may ask, and answered as somebody", async () => {
    const { report, run, ask } = await serve({ policies: { anonymous_discovery: false } });
    const { exitCode, json } = await report(...ask);
    expect(exitCode).toBe(1);
    expect(json).toMatchObject({ ok: false, signature: null });
    expect(json.faults[0]?.message).toBe(
      'the server answers 262 "anonymous-discovery-disabled", expected 200 and its manifest',
    );
    expect((await run(...ask, "--agent-id", ALICE)).exitCode).toBe(0);
  });

  it("could not be asked without trust", async () => {
    const { run, uri } = await serve();
    const { exitCode, out, err } = await run(uri);
    expect([exitCode, out]).toEqual([2, ""]);
    expect(err).toContain("no trusted TLS connection");
    expect((await run(uri, "--insecure")).exitCode).toBe(0);
  });
});

// AGTP-API §8.10, §8.11
describe("agtp-manifest, asking another server", () => {
  const typed = (body: string, type = MANIFEST_TYPE) =>
    reply(body, "200 OK", `Content-Type: ${type}\r\nETag: "1"\r\nCache-Control: no-cache\r\n`);

  it("finds a wrong type, and warns of what helps to keep it", async () => {
    const { report } = makeManifestProgram();
    const { json } = await report(...(await answerWith(reply("{}"))));
    expect(json.faults[0]).toEqual({
      pointer: "",
      clause: "AGTP-API §8.10",
      message: `the Content-Type is "", expected ${MANIFEST_TYPE}`,
    });
    expect(json.warnings.slice(0, 2).map(({ clause }) => clause)).toEqual([
      "AGTP-API §8.11",
      "AGTP-API §8.11",
    ]);
    const other = await report(...(await answerWith(typed("{}", "application/json"))));
    expect(other.json.faults[0]?.clause).toBe("AGTP-API §8.10");
    const right = await report(...(await answerWith(typed("{}", `${MANIFEST_TYPE}; v=1`))));
    expect(right.json.faults.map(({ clause }) => clause)).not.toContain("AGTP-API §8.10");
  });

  it.each([
    ["[]", "is an array, expected an object"],
    ["{ nope", "the body is not JSON"],
    ["", "the body is not JSON"],
    [`${"[".repeat(1000)}${"]".repeat(1000)}`, "the body is nested deeper than 128 levels"],
  ])("finds that the body of case %# is none", async (body, message) => {
    const { report } = makeManifestProgram();
    const { exitCode, json } = await report(...(await answerWith(typed(body))));
    expect(exitCode).toBe(1);
    expect(json.faults.at(-1)?.message).toContain(message);
  });

  it("asks as the draft says", async () => {
    let asked = "";
    const args = await answerWith((socket, { method, path, headers }) => {
      asked = `${method} ${path} ${headers.get("agent-id") ?? "nobody"}`;
      socket.write(typed("{}"));
    });
    await makeManifestProgram().run(...args);
    expect(asked).toBe("DISCOVER / nobody");
  });

  it("never lets it write to the terminal as it likes", async () => {
    const server = { server_id: "\u001b[2Jx", "a\u001b]0;b": 1 };
    const args = await answerWith(typed(JSON.stringify({ server })));
    const { out } = await makeManifestProgram().run(...args);
    expect(out).not.toContain("\u001b");
  });
});

describe("agtp-manifest, reading a file", () => {
  const manifest = { server: { server_id: "s" }, document_version: "v1" };

  it("shows each finding with its place, clause and reason", async () => {
    const { run } = makeManifestProgram({ "m.json": JSON.stringify(manifest) });
    const { exitCode, out, err } = await run("m.json");
    expect([exitCode, err]).toEqual([1, ""]);
    const lines = out.split("\n");
    expect(lines[0]).toBe("m.json: s, v1");
    expect(lines).toContain("  fault    /agtp_version  §8.2  is missing, expected a text");
    expect(lines.at(-3)).toBe("signature: there is none");
    expect(lines.at(-2)).toMatch(/^not valid: \d+ faults, \d+ warnings$/);
  });

  it("verifies what it finds there", async () => {
    const signature = signManifest(manifest, ISSUER.privateKey);
    const signed = { ...manifest, manifest_signature: signature };
    const { report } = makeManifestProgram({
      "m.json": JSON.stringify(signed, undefined, 4),
      "altered.json": JSON.stringify({ ...signed, document_version: "v2" }),
      "twice.json": JSON.stringify(signed).replace("{", '{"document_version":"v2",'),
    });
    const state = async (file: string) => {
      const { json } = await report(file, "--key", ISSUER.text);
      return [json.signature?.state, json.faults.filter(({ clause }) => clause.endsWith("8.8"))];
    };
    expect(await state("m.json")).toEqual(["verified", []]);
    expect(await state("altered.json")).toMatchObject([
      "invalid",
      [{ message: "is over another manifest" }],
    ]);
    expect(await state("twice.json")).toMatchObject(["verified", [{ pointer: "" }]]);
  });

  it("takes the catalog that is named", async () => {
    const { report } = makeManifestProgram({
      "m.json": JSON.stringify({
        ...manifest,
        catalog_version: "7.0.0",
        endpoints: [{ method: "GRONK", path: "/" }],
      }),
      "methods.json": catalogJson((catalog) => {
        catalog.version = "7.0.0";
      }),
    });
    const without = await report("m.json");
    expect(without.json).toMatchObject({ catalog: null });
    expect(without.json.faults.map(({ pointer }) => pointer)).not.toContain("/endpoints/0/method");
    const named = await report("m.json", "--catalog", "methods.json");
    expect(named.json.catalog).toBe("7.0.0");
    expect(named.json.faults.map(({ pointer }) => pointer)).toContain("/endpoints/0/method");
  });

  it("compares with an earlier revision", async () => {
    const other = { ...manifest, server: { server_id: "t" }, document_version: "v2" };
    const { directory, report } = makeManifestProgram({ "m.json": JSON.stringify(manifest) });
    writeFileSync(join(directory, "old.json"), JSON.stringify(other));
    const { json } = await report("m.json", "--previous", "old.json");
    expect(json.faults.map(({ pointer }) => pointer)).toContain("/server/server_id");
  });

  it.each([
    [[], "missing required argument 'source'"],
    [["a.json", "b.json"], "too many arguments"],
    [["nowhere.json"], '"nowhere.json" does not exist'],
    [["."], "must be a file, is a directory"],
    [["text.json"], '"text.json" is not JSON'],
    [["deep.json"], '"deep.json" is nested deeper than 128 levels'],
    [["m.json", "--key", "nowhere.pem"], '"nowhere.pem" does not exist'],
    [["m.json", "--key", "text.json"], "must hold an Ed25519 key"],
    [["m.json", "--catalog", "m.json"], "m.json: version: is missing"],
    [["m.json", "--previous", "list.json"], '"list.json" must hold a manifest'],
    [["agtp://"], "expected a host name or address"],
    [["agtp://localhost/orders"], "expected the URI of a server"],
    [[`agtp://${"a".repeat(64)}@localhost`], "expected the URI of a server"],
    [["agtp://localhost", "--ca", "m.json", "--insecure"], "expected --ca or --insecure"],
    [
      ["agtp://localhost", "--client-cert", "m.json"],
      "expected --client-cert and --client-key together",
    ],
    [["agtp://127.0.0.1:1"], "no connection to 127.0.0.1:1"],
  ])("exits 2 with clear words for %j", async (args, message) => {
    const { run } = makeManifestProgram({
      "m.json": "{}",
      "list.json": "[]",
      "text.json": "{ nope",
      "deep.json": `${'{"a":'.repeat(5000)}1${"}".repeat(5000)}`,
    });
    const { exitCode, out, err } = await run(...args);
    expect([exitCode, out]).toEqual([2, ""]);
    expect(err).toContain(message);
  });

  it("shows help and version", async () => {
    const { run } = makeManifestProgram();
    expect((await run("--help")).out).toContain("Exit codes: 0");
    expect((await run("--version")).out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});
