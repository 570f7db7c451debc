import { createPrivateKey, createPublicKey, generateKeyPairSync } from "node:crypto";
import { appendFileSync, chmodSync, mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { publicKeyOf } from "../../../src/identity/ed25519.ts";
import { keyId } from "../../../src/identity/jws.ts";
import { createRecordSigner } from "../../../src/state/records/sealer.ts";
import { REFERENCE, signGenesis } from "../../support/genesis.ts";
import {
  type KeysProgram,
  LAUREN,
  makeKeysProgram,
  makeLauren,
} from "../../support/keys-program.ts";
import { signManifest } from "../../support/manifests.ts";

const GENESIS = "agents/lauren.genesis.json";
const DOCUMENT = "agents/lauren.agent.json";
const KEY = ".agtp/keys/signing.pem";

async function prepare(): Promise<KeysProgram & { readonly agentId: string }> {
  const program = makeKeysProgram();
  return { ...program, agentId: await makeLauren(program) };
}

/** What came of each check, by its name. */
async function outcomes(program: KeysProgram, ...args: readonly string[]) {
  const { exitCode, json } = await program.run("verify", "--json", ...args);
  const files = json["files"] as { kind: string; checks: { check: string; outcome: string }[] }[];
  const checks = files.map(({ kind, checks }) => [
    kind,
    Object.fromEntries(checks.map(({ check, outcome }) => [check, outcome])),
  ]);
  return { exitCode, checks };
}

describe("agtp-keys verify, of a Genesis", () => {
  it("says each check", async () => {
    const program = await prepare();
    const { exitCode, out, err } = await program.run("verify", GENESIS, "--issuer-key", KEY);
    expect([exitCode, err]).toEqual([0, ""]);
    expect(out.split("\n")).toEqual([
      `${GENESIS}: genesis`,
      "  ok       form       every member is as it should be",
      "  ok       signature  verifies over the canonical form",
      `  ok       agent-id   ${program.agentId}`,
      "  ok       issuer     is trusted by --issuer-key",
      "",
    ]);
  });

  it("knows one whose keys are PEM, as the reference implementation writes them", async () => {
    const program = await prepare();
    program.write("reference.json", JSON.stringify(signGenesis(REFERENCE), null, 2));
    expect(await outcomes(program, "reference.json")).toEqual({
      exitCode: 0,
      checks: [["genesis", { form: "ok", signature: "ok", "agent-id": "ok", issuer: "skipped" }]],
    });
  });

  it.each([
    [
      "a member that was changed",
      { owner: "mallory" },
      { signature: "failed", "agent-id": "failed" },
    ],
    ["a member that was added", { extra: 1 }, { signature: "failed", "agent-id": "failed" }],
    ["another signature", { signature: "A".repeat(86) }, { signature: "failed" }],
    ["no signature", { signature: undefined }, { signature: "failed" }],
    ["another Agent-ID", { agent_id: "ab".repeat(32) }, { "agent-id": "failed" }],
    ["a key that is none", { issuer_public_key: "x" }, { form: "failed", signature: "failed" }],
    ["a tier that is none", { trust_tier: 7 }, { form: "failed", signature: "failed" }],
  ])("fails for %s", async (_, members, expected) => {
    const program = await prepare();
    program.edit(GENESIS, (genesis) => ({ ...genesis, ...members }));
    const { exitCode, checks } = await outcomes(program, GENESIS);
    expect(exitCode).toBe(1);
    expect(checks).toMatchObject([["genesis", expected]]);
  });

  it("fails for one that somebody else signed anew, where it is said who is trusted", async () => {
    const program = await prepare();
    await program.run("signing", "--out", "mallory.pem");
    await program.run(
      ...["genesis", ...LAUREN, "--issuer-key", "mallory.pem", "--out-dir", "forged"],
    );
    const forged = "forged/lauren.genesis.json";
    expect(await outcomes(program, forged)).toMatchObject({
      exitCode: 0,
      checks: [["genesis", { issuer: "skipped" }]],
    });
    expect(await outcomes(program, forged, "--issuer-key", KEY)).toMatchObject({
      exitCode: 1,
      checks: [["genesis", { signature: "ok", issuer: "failed" }]],
    });
  });

  it("never passes what was changed anywhere, and never throws", async () => {
    const program = await prepare();
    const original = program.read(GENESIS);
    const mutation = fc.record({
      at: fc.nat({ max: original.length - 1 }),
      kind: fc.constantFrom("flip", "cut", "drop", "double"),
      bit: fc.nat({ max: 6 }),
    });
    await fc.assert(
      fc.asyncProperty(mutation, async ({ at, kind, bit }) => {
        const flipped = String.fromCharCode(original.charCodeAt(at) ^ (1 << bit));
        const middle = kind === "flip" ? flipped : kind === "double" ? original[at]?.repeat(2) : "";
        const rest = kind === "cut" ? "" : original.slice(at + 1);
        program.write(GENESIS, original.slice(0, at) + middle + rest);
        const { exitCode } = await program.run("verify", GENESIS);
        let isSame = false;
        try {
          const changed = JSON.parse(program.read(GENESIS));
          isSame = JSON.stringify(changed) === JSON.stringify(JSON.parse(original));
        } catch {
          // What is no JSON is not the same.
        }
        expect(exitCode).toBe(isSame ? 0 : 1);
      }),
      { numRuns: 300 },
    );
  });
});

describe("agtp-keys verify, of an identity document", () => {
  it("finds the Genesis beside it, or among the files", async () => {
    const program = await prepare();
    const passed = { form: "ok", signature: "ok", "agent-id": "ok", issuer: "skipped" };
    const alone = await outcomes(program, DOCUMENT);
    expect(alone).toEqual({ exitCode: 0, checks: [["identity-document", passed]] });
    mkdirSync(join(program.directory, "apart"));
    renameSync(join(program.directory, GENESIS), join(program.directory, "apart/g.json"));
    expect(await outcomes(program, DOCUMENT, "apart/g.json")).toMatchObject({
      exitCode: 0,
      checks: [
        ["identity-document", passed],
        ["genesis", { signature: "ok" }],
      ],
    });
    expect(await outcomes(program, DOCUMENT)).toMatchObject({
      exitCode: 0,
      checks: [["identity-document", { "agent-id": "skipped" }]],
    });
  });

  it.each([
    ["a scope that was added", { scopes_accepted: ["*:*"] }, { signature: "failed" }],
    ["a signature that was taken away", { manifest_signature: undefined }, { signature: "failed" }],
    ["another Agent-ID", { agent_id: "ab".repeat(32) }, { "agent-id": "failed" }],
    ["no name", { name: undefined }, { form: "failed" }],
  ])("fails for %s", async (_, members, expected) => {
    const program = await prepare();
    program.edit(DOCUMENT, (document) => ({ ...document, ...members }));
    const { exitCode, checks } = await outcomes(program, DOCUMENT);
    expect(exitCode).toBe(1);
    expect(checks).toMatchObject([["identity-document", expected]]);
  });

  it("fails where its Genesis does", async () => {
    const program = await prepare();
    program.edit(GENESIS, (genesis) => ({ ...genesis, scope: ["a:b"] }));
    const { exitCode, checks } = await outcomes(program, DOCUMENT);
    expect(exitCode).toBe(1);
    expect(checks).toMatchObject([["identity-document", { "agent-id": "failed" }]]);
  });

  it("warns of one that nobody signed", async () => {
    const program = await prepare();
    program.edit(DOCUMENT, (document) =>
      Object.fromEntries(Object.entries(document).filter(([key]) => !key.startsWith("manifest_"))),
    );
    const { exitCode, checks } = await outcomes(program, DOCUMENT);
    expect(exitCode).toBe(0);
    expect(checks).toMatchObject([["identity-document", { signature: "warning" }]]);
  });
});

describe("agtp-keys verify, of certificates", () => {
  const CERTIFICATE = ".agtp/keys/lauren.cert.pem";
  const CA = ".agtp/keys/agents-ca.pem";

  async function prepareCertificate() {
    const program = await prepare();
    await program.run("agent-ca");
    await program.run(
      ...["agent-cert", "--ca-cert", CA, "--ca-key", ".agtp/keys/agents-ca-key.pem"],
      ...["--genesis", GENESIS],
    );
    return program;
  }

  it("says what it is for, who issued it, and that it agrees with the Genesis", async () => {
    const program = await prepareCertificate();
    const passed = { form: "ok", agent: "ok", genesis: "ok", issuer: "ok" };
    expect(await outcomes(program, CERTIFICATE, GENESIS, "--ca", CA)).toMatchObject({
      exitCode: 0,
      checks: [
        ["agent-certificate", passed],
        ["genesis", {}],
      ],
    });
    const { out } = await program.run("verify", CERTIFICATE);
    expect(out).toContain(`${program.agentId}, owner acme, committed to booking:room,orders:*`);
    expect(out).toContain("skipped  issuer");
    expect(await outcomes(program, CA)).toEqual({
      exitCode: 0,
      checks: [["certificate-authority", { form: "ok" }]],
    });
  });

  it("fails for another CA, and for the Genesis of another agent", async () => {
    const program = await prepareCertificate();
    await program.run("agent-ca", "--out-dir", "other");
    expect(await outcomes(program, CERTIFICATE, "--ca", "other/agents-ca.pem")).toMatchObject({
      exitCode: 1,
      checks: [["agent-certificate", { form: "ok", issuer: "failed" }]],
    });
    await program.run("genesis", ...LAUREN, "--out-dir", "other");
    const another = await outcomes(program, CERTIFICATE, "other/lauren.genesis.json");
    expect(another).toMatchObject({
      exitCode: 1,
      checks: [
        ["agent-certificate", { genesis: "failed" }],
        ["genesis", {}],
      ],
    });
  });

  it("fails for one that is damaged", async () => {
    const program = await prepareCertificate();
    program.write("cut.pem", program.read(CERTIFICATE).slice(0, 300));
    program.write("bad.pem", program.read(CERTIFICATE).replace(/M/g, "N"));
    for (const file of ["cut.pem", "bad.pem"]) {
      expect(await outcomes(program, file)).toMatchObject({
        exitCode: 1,
        checks: [["agent-certificate", { form: "failed" }]],
      });
    }
    const { exitCode, err } = await program.run("verify", CERTIFICATE, "--ca", "bad.pem");
    expect(exitCode).toBe(2);
    expect(err).toContain('"bad.pem" must hold certificates in PEM');
  });
});

describe("agtp-keys verify, of records and manifests", () => {
  const record = (program: KeysProgram): string =>
    createRecordSigner(createPrivateKey(program.read(KEY))).sign('{"agent_id":"x"}');

  it("verifies a record with a key, and says its Audit-ID", async () => {
    const program = await prepare();
    program.write("record.jws", `${record(program)}\n`);
    const { exitCode, out } = await program.run("verify", "record.jws", "--key", KEY);
    expect(exitCode).toBe(0);
    expect(out).toMatch(/ok +signature +by ed25519-[0-9a-f]{16}\n.*audit-id +[0-9a-f]{64}\n$/);
    expect(await outcomes(program, "record.jws")).toMatchObject({
      exitCode: 0,
      checks: [["attribution-records", { signature: "skipped" }]],
    });
  });

  it("takes a key as it is printed, too", async () => {
    const program = await prepare();
    program.write("record.jws", record(program));
    const { json } = await program.run("signing", "--out", "other.pem", "--json");
    const other = String(json["public_key"]);
    const { issuer_public_key: own } = JSON.parse(program.read(GENESIS));
    expect((await program.run("verify", "record.jws", "--key", own)).exitCode).toBe(0);
    expect((await program.run("verify", "record.jws", "--key", other)).exitCode).toBe(1);
    expect((await program.run("verify", GENESIS, "--issuer-key", own)).exitCode).toBe(0);
  });

  it("fails for another key, another payload and, with a key, for no signature", async () => {
    const program = await prepare();
    await program.run("signing", "--out", "other.pem");
    const [header, , signature] = record(program).split(".");
    program.write(
      "forged.jws",
      `${header}.${Buffer.from("{}").toString("base64url")}.${signature}`,
    );
    program.write("record.jws", record(program));
    program.write("unsigned.jws", createRecordSigner().sign("{}"));
    const runs = [
      ["record.jws", "--key", "other.pem"],
      ["forged.jws", "--key", KEY],
      ["unsigned.jws", "--key", KEY],
    ];
    for (const args of runs) {
      expect(await outcomes(program, ...args), args[0]).toMatchObject({
        exitCode: 1,
        checks: [["attribution-records", { signature: "failed" }]],
      });
    }
    expect((await outcomes(program, "unsigned.jws")).checks).toMatchObject([
      ["attribution-records", { signature: "warning" }],
    ]);
  });

  it("goes through a whole segment, and names the lines that fail", async () => {
    const program = await prepare();
    const good = record(program);
    program.write("00000001.jws", `${good}\n${good}\n${good.slice(0, -4)}AAAA\n${good}\n`);
    const { exitCode, out } = await program.run("verify", "00000001.jws", "--key", KEY);
    expect(exitCode).toBe(1);
    expect(out).toContain("line 3: the record has a signature that does not verify");
    expect(out).toContain("3 records: by ed25519-");
  });

  it("wants a chain for what is asked of one", async () => {
    const program = await prepare();
    program.write("record.jws", record(program));
    for (const option of ["--head", "--archive", "--agent"]) {
      const { exitCode, out, err } = await program.run(
        "verify",
        "record.jws",
        option,
        "a".repeat(64),
      );
      expect([exitCode, out]).toEqual([2, ""]);
      expect(err).toContain(`expected --chain beside ${option}`);
    }
  });

  it("verifies a manifest, and says whose word it is", async () => {
    const program = await prepare();
    await program.run("signing", "--out", "other.pem");
    const manifest = { agtp_api_version: "1.0", server: { server_id: "x" } };
    const manifest_signature = signManifest(manifest, createPrivateKey(program.read(KEY)));
    program.write("m.json", JSON.stringify({ ...manifest, manifest_signature }));
    program.write("u.json", JSON.stringify({ ...manifest, manifest_signature: null }));
    program.write("f.json", JSON.stringify({ ...manifest, x: 1, manifest_signature }));
    const check = async (...args: readonly string[]) => {
      const { exitCode, checks } = await outcomes(program, ...args);
      return [exitCode, checks[0]?.[1]];
    };
    expect(await check("m.json")).toEqual([0, { signature: "ok", signer: "skipped" }]);
    expect(await check("m.json", "--key", "other.pem", "--key", KEY)).toEqual([
      0,
      { signature: "ok" },
    ]);
    expect(await check("m.json", "--key", "other.pem")).toEqual([1, { signature: "failed" }]);
    expect(await check("f.json")).toEqual([1, { signature: "failed" }]);
    expect(await check("u.json")).toEqual([0, { signature: "warning" }]);
  });
});

describe("agtp-keys verify, of a key", () => {
  it("says whose it is, and shows the public half alone", async () => {
    const program = await prepare();
    const key = publicKeyOf(createPrivateKey(program.read(KEY)));
    const { exitCode, out } = await program.run("verify", KEY);
    expect(exitCode).toBe(0);
    expect(out.split("\n")).toEqual([
      `${KEY}: private key`,
      `  ok       form         Ed25519, public key ${key?.text}, kid ${key && keyId(key)}`,
      "  ok       permissions  its owner alone can read it",
      "",
    ]);
    program.write("signing.pub", String(key?.text));
    program.write("signing.pub.pem", String(key?.key.export({ type: "spki", format: "pem" })));
    for (const file of ["signing.pub", "signing.pub.pem"]) {
      const verdict = await outcomes(program, file);
      expect(verdict).toEqual({ exitCode: 0, checks: [["public-key", { form: "ok" }]] });
      expect((await program.run("verify", file)).out).toContain(`kid ${key && keyId(key)}`);
    }
  });

  it("knows the keys of certificates and of their authorities", async () => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
    const program = makeKeysProgram({
      "p256.pem": privateKey.export({ type: "sec1", format: "pem" }).toString(),
      "rsa.pem": rsa.export({ type: "pkcs1", format: "pem" }).toString(),
    });
    expect((await program.run("verify", "p256.pem")).out).toContain("ECDSA of prime256v1");
    expect((await program.run("verify", "rsa.pem")).out).toContain("RSA of 2048 bits");
  });

  it("computes with no RSA key that is longer than one of 8192 bits", async () => {
    const { n = "" } = generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey.export({
      format: "jwk",
    });
    const e = Buffer.alloc(60_000, 0xff).toString("base64url");
    const key = createPublicKey({ key: { kty: "RSA", n, e }, format: "jwk" });
    const pem = key.export({ type: "spki", format: "pem" }).toString();
    const { out } = await makeKeysProgram({ "long.pem": pem }).run("verify", "long.pem");
    expect(out).toContain("RSA, longer than one of 8192 bits\n");
  });

  it("warns of one that others can read, and fails one that is encrypted or damaged", async () => {
    const program = await prepare();
    chmodSync(join(program.directory, KEY), 0o644);
    expect(await outcomes(program, KEY)).toEqual({
      exitCode: 0,
      checks: [["private-key", { form: "ok", permissions: "warning" }]],
    });
    const key = createPrivateKey(program.read(KEY));
    const cipher = { cipher: "aes-256-cbc", passphrase: "x" };
    program.write("e.pem", key.export({ type: "pkcs8", format: "pem", ...cipher }).toString());
    program.write("d.pem", program.read(KEY).replace("\nMC4", "\nMC9"));
    for (const [file, message] of [
      ["e.pem", "is encrypted"],
      ["d.pem", "is damaged"],
    ] as const) {
      const { exitCode, out } = await program.run("verify", file);
      expect([file, exitCode]).toEqual([file, 1]);
      expect(out).toContain(message);
    }
  });
});

describe("agtp-keys verify, of anything else", () => {
  it.each([
    ["", "is neither a certificate or a key in PEM, nor a compact JWS, nor JSON"],
    ["{", "must be JSON"],
    ["[]", "is JSON, but no object"],
    ['{"format":"agtpd-state","version":1}\n{"put":[]}', "is of agtpd state export: import it"],
    ["{}", "is no Genesis, identity document or manifest"],
    ["a.b", "is neither a certificate or a key in PEM, nor a compact JWS, nor JSON"],
  ])("fails for the content %j", async (content, message) => {
    const program = makeKeysProgram({ file: content });
    const { exitCode, out } = await program.run("verify", "file");
    expect(exitCode).toBe(1);
    expect(out).toContain(message);
  });

  it("exits 2 for what cannot be read", async () => {
    const program = makeKeysProgram({ "a/b": "" });
    for (const file of ["missing.json", "a"]) {
      const { exitCode, err } = await program.run("verify", file);
      expect(exitCode, file).toBe(2);
      expect(err).toContain(JSON.stringify(file));
    }
  });

  it("repeats nothing of a secret that was named by mistake", async () => {
    const program = await prepare();
    const secret = program.read(KEY).split("\n")[1] ?? "";
    program.write("raw.txt", secret);
    program.write("seed.txt", Buffer.from(secret, "base64").subarray(-32).toString("base64url"));
    program.write("cut.pem", program.read(KEY).replace("-----END", "--"));
    for (const file of [KEY, "raw.txt", "seed.txt", "cut.pem"]) {
      const { out, err } = await program.run("verify", file);
      for (let at = 0; at + 6 <= secret.length; at += 1) {
        expect(out + err).not.toContain(secret.slice(at, at + 6));
      }
    }
  });

  it("says of a hostile file nothing that reaches a terminal", async () => {
    const program = await prepare();
    program.edit(GENESIS, (genesis) => ({ ...genesis, agent_id: "\u001b[2J\u202eevil" }));
    appendFileSync(join(program.directory, GENESIS), "\n");
    const { out } = await program.run("verify", GENESIS);
    expect(out).not.toMatch(/[\u001b\u202e]/);
  });
});
