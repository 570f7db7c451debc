/** Detached signatures over a manifest's digest: plain ones, and OpenSSH's. */
import { execFileSync } from "node:child_process";
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { canonicalDigest } from "../../../../src/identity/canonical-form.ts";
import { call, type Json, manifestOf, promptTask, testWorld } from "../../../support/agentcli.ts";
import { cpuMs } from "../../../support/cpu-time.ts";
import { makeDirectory } from "../../../support/directory.ts";

type Members = Readonly<Record<string, unknown>>;

function manifestBy(profile: Members): Members {
  return manifestOf([promptTask({ id: "task", authorization_proof: { ref: "p" } })], {
    authorization_proof_profiles: [
      {
        ...{ id: "p", method: "detached-signature", verify: { required: true } },
        proof: { value_from: { env: "PROOF" } },
        ...profile,
      },
    ],
  });
}

async function resolve(manifest: Members, PROOF: string, directory = "/"): Promise<Json> {
  // Nothing that verifies a proof starts a program.
  const runProgram = () => Promise.reject(new Error("a program was run"));
  const world = testWorld({ env: { PROOF }, directory, runProgram });
  return call("agentcli.identity.resolve", { manifest, taskId: "task" }, { world });
}

const REFUSED = { data: { code: "authorization_proof_failed" } };

// agentcli execution identity "detached-signature"
describe("a plain signature", () => {
  const EC = { namedCurve: "P-256" } as const;
  const pairs = {
    Ed25519: generateKeyPairSync("ed25519"),
    ES256: generateKeyPairSync("ec", EC),
    RS256: generateKeyPairSync("rsa", { modulusLength: 2048 }),
  };
  const by = (publicKey: KeyObject) =>
    manifestBy({ public_key: publicKey.export({ type: "spki", format: "pem" }) });
  const signed = (key: KeyObject, text: string, isEdwards = false) =>
    sign(isEdwards ? null : "sha256", Buffer.from(text), key);

  it.each([
    ["ed448", generateKeyPairSync("ed448")],
    ["x25519", generateKeyPairSync("x25519")],
    ["dsa", generateKeyPairSync("dsa", { modulusLength: 1024, divisorLength: 160 })],
  ] as const)("is never one by a key for something else: %s", async (_, { publicKey }) => {
    const answer = await resolve(by(publicKey), Buffer.alloc(64, 1).toString("base64"));
    expect(answer["error"]).toMatchObject({
      data: {
        code: "validation_error",
        validation: { errors: [{ message: "must be an Ed25519, RSA or EC key" }] },
      },
    });
  });

  it.each(Object.entries(pairs))("holds for %s, over this manifest alone", async (name, pair) => {
    const manifest = by(pair.publicKey);
    const make = (text: string) => signed(pair.privateKey, text, name === "Ed25519");
    const proof = make(canonicalDigest(manifest));
    for (const form of ["base64", "base64url"] as const) {
      expect((await resolve(manifest, proof.toString(form)))["result"]).toMatchObject({ ok: true });
    }
    const other = make("sha256:00").toString("base64");
    for (const wrong of [other, "", "nonsense!", "AAAA", proof.toString("base64").slice(4)]) {
      expect((await resolve(manifest, wrong))["error"]).toMatchObject(REFUSED);
    }
    const changed = { ...manifest, identity_profiles: [{ id: "x", provider: "none" }] };
    expect((await resolve(changed, proof.toString("base64")))["error"]).toMatchObject(REFUSED);
  });

  it("holds in JOSE's form of ECDSA as well", async () => {
    const { privateKey: key, publicKey } = pairs.ES256;
    const manifest = by(publicKey);
    const octets = Buffer.from(canonicalDigest(manifest));
    const proof = sign("sha256", octets, { key, dsaEncoding: "ieee-p1363" });
    expect((await resolve(manifest, proof.toString("base64url")))["result"]).toMatchObject({
      ok: true,
    });
  });

  it("needs one key, or one list of signers and a principal", async () => {
    const pem = pairs.Ed25519.publicKey.export({ type: "spki", format: "pem" });
    const secret = pairs.Ed25519.privateKey.export({ type: "pkcs8", format: "pem" });
    const paths = async (profile: Members) => {
      const { result = {} } = await call("agentcli.validate", { manifest: manifestBy(profile) });
      return (result["errors"] as unknown as readonly { path: string }[]).map(({ path }) =>
        path.replace("$.authorization_proof_profiles[0].", ""),
      );
    };
    expect(await paths({ public_key: pem })).toEqual([]);
    expect(await paths({ allowed_signers: "s", principal: "ops" })).toEqual([]);
    expect(await paths({})).toEqual(["public_key"]);
    expect(await paths({ public_key: pem, allowed_signers: "s", principal: "p" })).toEqual([
      "public_key",
    ]);
    expect(await paths({ allowed_signers: "s" })).toEqual(["principal"]);
    expect(await paths({ public_key: secret })).toEqual(["public_key"]);
    expect(await paths({ public_key: pem, proof: undefined })).toEqual(["proof.value_from"]);
  });
});

// PROTOCOL.sshsig
describe("a signature of ssh-keygen", () => {
  function prepare() {
    const directory = makeDirectory({});
    for (const name of ["key", "other"]) {
      execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(directory, name)]);
    }
    const line = readFileSync(join(directory, "key.pub"), "utf8").trim();
    const lists = {
      signers: `# people\nnobody ${line}\nops,dev ${line}\n`,
      scoped: `ops namespaces="git,agentcli" ${line}\n`,
      git: `ops namespaces="git" ${line}\n`,
      negated: `!ops,ops ${line}\n`,
      dated: `ops valid-before="20200101" ${line}\n`,
    };
    for (const [name, text] of Object.entries(lists)) writeFileSync(join(directory, name), text);
    const signature = (text: string, namespace = "agentcli", key = "key"): string => {
      const args = ["-Y", "sign", "-n", namespace, "-f", join(directory, key)];
      return execFileSync("ssh-keygen", args, { input: text, stdio: "pipe" }).toString();
    };
    return { directory, signature };
  }
  const by = (allowed_signers: string, members: Members = {}) =>
    manifestBy({ allowed_signers, principal: "ops", ...members });

  it("holds for a principal and a namespace of the list", async () => {
    const { directory, signature } = prepare();
    for (const list of ["signers", "scoped"]) {
      const manifest = by(list);
      for (const end of ["", "\n"]) {
        const proof = signature(canonicalDigest(manifest) + end);
        expect((await resolve(manifest, proof, directory))["result"]).toMatchObject({ ok: true });
      }
    }
    const manifest = by("signers", { namespace: "deploy" });
    const proof = signature(canonicalDigest(manifest), "deploy");
    expect((await resolve(manifest, proof, directory))["result"]).toMatchObject({ ok: true });
  });

  it("does not hold for anybody or anything else", async () => {
    const { directory, signature } = prepare();
    const manifest = by("signers");
    const digest = canonicalDigest(manifest);
    const good = signature(digest);
    const proofs = [
      signature("sha256:00"),
      signature(digest, "git"),
      signature(digest, "agentcli", "other"),
      good.replace(/\n./, "\nA"),
      good.slice(0, 80),
      "-----BEGIN SSH SIGNATURE-----\nU1NIU0lH\n-----END SSH SIGNATURE-----",
      `-----BEGIN SSH SIGNATURE-----\n${Buffer.from("SSHSIG\0\0\0\x01\xff\xff\xff\xff", "latin1").toString("base64")}\n-----END SSH SIGNATURE-----`,
    ];
    for (const proof of proofs) {
      expect((await resolve(manifest, proof, directory))["error"]).toMatchObject(REFUSED);
    }
    const started = cpuMs();
    const blank = `-----BEGIN SSH SIGNATURE-----${" ".repeat(200_000)}x`;
    expect((await resolve(manifest, blank, directory))["error"]).toMatchObject(REFUSED);
    expect(cpuMs() - started).toBeLessThan(2_000);
    for (const other of [
      by("signers", { principal: "eve" }),
      ...["git", "negated", "dated", "missing"].map((list) => by(list)),
    ]) {
      const proof = signature(canonicalDigest(other));
      expect((await resolve(other, proof, directory))["error"]).toMatchObject(REFUSED);
    }
  });
});
