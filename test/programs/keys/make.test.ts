import { createPrivateKey, X509Certificate } from "node:crypto";
import { existsSync, readdirSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { verifyClientCertificate } from "../../../src/identity/client-certificate-verification.ts";
import { publicKeyOf } from "../../../src/identity/ed25519.ts";
import { loadAgents } from "../../../src/identity/load-agents.ts";
import {
  type KeysProgram,
  LAUREN,
  makeKeysProgram,
  makeLauren,
} from "../../support/keys-program.ts";

const modeOf = ({ directory }: KeysProgram, file: string): number =>
  statSync(join(directory, file)).mode & 0o777;

const keyIn = (program: KeysProgram, file: string) => {
  const key = publicKeyOf(createPrivateKey(program.read(file)));
  if (key === undefined) throw new Error(`${file} holds no Ed25519 key`);
  return key;
};

describe("agtp-keys signing", () => {
  it("makes a key for its owner alone, and says its public half", async () => {
    const program = makeKeysProgram();
    const { exitCode, out, err } = await program.run("signing");
    expect([exitCode, err]).toEqual([0, ""]);
    const { text, fingerprint } = keyIn(program, ".agtp/keys/signing.pem");
    expect(out).toBe(
      `file        .agtp/keys/signing.pem\npublic key  ${text}\n` +
        `kid         ed25519-${fingerprint.slice(0, 16)}\n`,
    );
    expect(modeOf(program, ".agtp/keys/signing.pem")).toBe(0o600);
    expect(modeOf(program, ".agtp/keys")).toBe(0o700);
    expect(modeOf(program, ".agtp")).toBe(0o700);
    expect(readdirSync(join(program.directory, ".agtp/keys"))).toEqual(["signing.pem"]);
  });

  it("never prints the private key", async () => {
    const program = makeKeysProgram();
    for (const flags of [[], ["--json", "--force"]]) {
      const { out, err } = await program.run("signing", ...flags);
      const { d } = createPrivateKey(program.read(".agtp/keys/signing.pem")).export({
        format: "jwk",
      });
      const base64 = program.read(".agtp/keys/signing.pem").split("\n")[1];
      for (const secret of [d, base64, "PRIVATE KEY"]) expect(out + err).not.toContain(secret);
    }
  });

  it("replaces a key only when it is told to", async () => {
    const program = makeKeysProgram({ "key.pem": "old" });
    const refused = await program.run("signing", "--out", "key.pem");
    expect(refused).toMatchObject({ exitCode: 1, out: "" });
    expect(refused.err).toBe('agtp-keys: "key.pem" is there already, --force replaces it\n');
    expect(program.read("key.pem")).toBe("old");
    const { json } = await program.run("signing", "--out", "key.pem", "--force", "--json");
    expect(json["public_key"]).toBe(keyIn(program, "key.pem").text);
    expect(modeOf(program, "key.pem")).toBe(0o600);
  });

  it("writes through no link", async () => {
    const program = makeKeysProgram({ "kept.txt": "kept" });
    symlinkSync("kept.txt", join(program.directory, "key.pem"));
    symlinkSync("nowhere", join(program.directory, "dangling.pem"));
    expect((await program.run("signing", "--out", "key.pem")).exitCode).toBe(1);
    expect((await program.run("signing", "--out", "dangling.pem")).exitCode).toBe(1);
    expect((await program.run("signing", "--out", "key.pem", "--force")).exitCode).toBe(0);
    expect(program.read("kept.txt")).toBe("kept");
    expect(existsSync(join(program.directory, "nowhere"))).toBe(false);
  });

  it("exits 2 where nothing can be written", async () => {
    const program = makeKeysProgram({ file: "" });
    const { exitCode, err } = await program.run("signing", "--out", "file/key.pem");
    expect(exitCode).toBe(2);
    expect(err).toContain('"file/key.pem" cannot be written');
  });
});

describe("agtp-keys genesis", () => {
  it("makes an agent that loads without a problem, and that its issuer is trusted for", async () => {
    const program = makeKeysProgram();
    const agentId = await makeLauren(program);
    expect(readdirSync(join(program.directory, "agents")).sort()).toEqual([
      "lauren.agent.json",
      "lauren.genesis.json",
    ]);
    const { documents, problems } = loadAgents({
      directory: program.directory,
      agentsDir: "agents",
      trustedIssuers: [keyIn(program, ".agtp/keys/signing.pem")],
    });
    expect(problems).toEqual([]);
    expect(documents).toMatchObject([
      {
        agentId,
        name: "lauren",
        principal: "Acme Retail",
        principalId: "acme",
        ownerId: "acme",
        scopes: ["booking:room", "orders:*"],
        signature: "trusted",
        genesis: { agentId, isTrusted: true },
      },
    ]);
  });

  it("takes everything that can be said of an agent", async () => {
    const program = makeKeysProgram();
    await program.run("signing");
    const { exitCode, err } = await program.run(
      ...["genesis", ...LAUREN, "--out-dir", "elsewhere", "--principal-id", "acme.example"],
      ...["--issuer", "https://issuer.example", "--description", "Books.", "--trust-tier", "3"],
      ...["--archetype", "executor", "--governance-zone", "zone:eu", "--force"],
      ...["--verification-path", "org-asserted"],
    );
    expect([exitCode, err]).toEqual([0, ""]);
    expect(JSON.parse(program.read("elsewhere/lauren.genesis.json"))).toMatchObject({
      archetype: "executor",
      governance_zone: "zone:eu",
      issuer: "https://issuer.example",
      trust_tier: 3,
    });
    expect(JSON.parse(program.read("elsewhere/lauren.agent.json"))).toMatchObject({
      description: "Books.",
      principal_id: "acme.example",
    });
  });

  // AGTP "Agent Genesis": tier 1 needs a verification path
  it("names the verification path that is meant where none is given, and writes it", async () => {
    const program = makeKeysProgram();
    await program.run("signing");
    await program.run("genesis", ...LAUREN, "--trust-tier", "1");
    const genesis = JSON.parse(program.read("agents/lauren.genesis.json"));
    expect(genesis).toMatchObject({ trust_tier: 1, verification_path: "org-asserted" });
    const { out } = await program.run("genesis", "--help");
    expect(out).toMatch(/--verification-path <path>[^-]*org-asserted/);
  });

  it("makes the agent a key of its own, or takes the one that is there", async () => {
    const program = makeKeysProgram();
    await program.run("signing");
    const made = await program.run("genesis", ...LAUREN, "--agent-key", "--json");
    expect(made.json["agent_key"]).toBe(".agtp/keys/lauren.pem");
    expect(modeOf(program, ".agtp/keys/lauren.pem")).toBe(0o600);
    const { text } = keyIn(program, ".agtp/keys/lauren.pem");
    expect(JSON.parse(program.read("agents/lauren.genesis.json"))["agent_public_key"]).toBe(text);
    await program.run("genesis", ...LAUREN, "--agent-key", "--force");
    expect(keyIn(program, ".agtp/keys/lauren.pem").text).toBe(text);
    expect(made.out).not.toContain("PRIVATE");
  });

  it("replaces no agent, and not even one file of one", async () => {
    const program = makeKeysProgram({ "agents/lauren.agent.json": "{}" });
    await program.run("signing");
    const { exitCode, err } = await program.run("genesis", ...LAUREN, "--agent-key");
    expect(exitCode).toBe(1);
    expect(err).toContain('"agents/lauren.agent.json" is there already');
    expect(readdirSync(join(program.directory, "agents"))).toEqual(["lauren.agent.json"]);
    expect(existsSync(join(program.directory, ".agtp/keys/lauren.pem"))).toBe(false);
  });

  it.each([
    ["a name with a path in it", ["--name", "../x"]],
    ["a name with a dot", ["--name", "a.b"]],
    ["an owner that is none", ["--owner-id", "a b"]],
    ["a scope that is none", ["--scope", "booking"]],
    ["an archetype that is none", ["--archetype", "boss"]],
    ["a tier that is none", ["--trust-tier", "4"]],
    ["no key", ["--issuer-key", "none.pem"]],
    ["a key that is none", ["--issuer-key", "agtp.txt"]],
    ["an agent key that is none", ["--agent-key", "agtp.txt"]],
  ])("exits 2 for %s, and writes nothing", async (_, flags) => {
    const program = makeKeysProgram({ "agtp.txt": "no key" });
    await program.run("signing");
    const { exitCode, out, err } = await program.run("genesis", ...LAUREN, ...flags);
    expect([exitCode, out]).toEqual([2, ""]);
    expect(err).toMatch(/^agtp-keys: .+\n$/);
    expect(existsSync(join(program.directory, "agents"))).toBe(false);
  });

  it("warns of a private key that others can read", async () => {
    const program = makeKeysProgram();
    await program.run("signing");
    const key = program.read(".agtp/keys/signing.pem");
    program.write("open.pem", key);
    const { exitCode, err } = await program.run("genesis", ...LAUREN, "--issuer-key", "open.pem");
    expect(exitCode).toBe(0);
    expect(err).toBe(
      'agtp-keys: warning: "open.pem" can be read by others, its permissions should be 0600\n',
    );
  });
});

describe("agtp-keys agent-ca and agent-cert", () => {
  const BY_CA = [
    "--ca-cert",
    ".agtp/keys/agents-ca.pem",
    "--ca-key",
    ".agtp/keys/agents-ca-key.pem",
  ];

  async function makeAuthority(): Promise<{ program: KeysProgram; agentId: string }> {
    const program = makeKeysProgram();
    const agentId = await makeLauren(program);
    const { exitCode, out } = await program.run("agent-ca");
    expect(exitCode).toBe(0);
    expect(out).toContain(".agtp/keys/agents-ca-key.pem");
    expect(modeOf(program, ".agtp/keys/agents-ca-key.pem")).toBe(0o600);
    return { program, agentId };
  }

  it("issue a certificate that servers take, about the agent of a Genesis", async () => {
    const { program, agentId } = await makeAuthority();
    const genesis = ["--genesis", "agents/lauren.genesis.json"];
    const { exitCode, json, err } = await program.run("agent-cert", ...BY_CA, ...genesis, "--json");
    expect([exitCode, err]).toEqual([0, ""]);
    expect(json).toMatchObject({ agent_id: agentId, key: ".agtp/keys/lauren.key.pem" });
    expect(modeOf(program, ".agtp/keys/lauren.key.pem")).toBe(0o600);
    const certificate = new X509Certificate(program.read(".agtp/keys/lauren.cert.pem"));
    const anchor = new X509Certificate(program.read(".agtp/keys/agents-ca.pem"));
    expect(verifyClientCertificate([certificate.raw], [anchor], Date.now())).toMatchObject({
      serialNumber: json["serial"],
      agent: { agentId, ownerId: "acme", scopes: ["booking:room", "orders:*"], trustTier: 2 },
    });
    expect(
      certificate.checkPrivateKey(createPrivateKey(program.read(".agtp/keys/lauren.key.pem"))),
    ).toBe(true);
  });

  it("issue one from flags alone, for a key that is there", async () => {
    const { program } = await makeAuthority();
    const key = keyIn(program, ".agtp/keys/signing.pem").key;
    program.write("public.pem", key.export({ type: "spki", format: "pem" }).toString());
    const { exitCode, json } = await program.run(
      ...["agent-cert", ...BY_CA, "--agent-id", "ab".repeat(32), "--name", "x", "--json"],
      ...["--public-key", "public.pem", "--scope", "", "--days", "1", "--out-dir", "certs"],
    );
    expect(exitCode).toBe(0);
    expect(json["key"]).toBeUndefined();
    expect(readdirSync(join(program.directory, "certs"))).toEqual(["x.cert.pem"]);
    const anchor = new X509Certificate(program.read(".agtp/keys/agents-ca.pem"));
    const certificate = new X509Certificate(program.read("certs/x.cert.pem"));
    expect(verifyClientCertificate([certificate.raw], [anchor], Date.now())).toMatchObject({
      agent: { agentId: "ab".repeat(32), scopes: [] },
    });
  });

  it.each([
    ["neither Genesis nor Agent-ID", ["--name", "x"]],
    ["no name", ["--agent-id", "ab".repeat(32)]],
    ["an Agent-ID that is none", ["--agent-id", "AB", "--name", "x"]],
    [
      "another Agent-ID",
      ["--genesis", "agents/lauren.genesis.json", "--agent-id", "ab".repeat(32)],
    ],
    ["a file that is no Genesis", ["--genesis", "agents/lauren.agent.json"]],
    ["too many days", ["--genesis", "agents/lauren.genesis.json", "--days", "91"]],
    ["days that are none", ["--genesis", "agents/lauren.genesis.json", "--days", "1e1"]],
    ["an unknown kind of key", ["--genesis", "agents/lauren.genesis.json", "--key-kind", "rsa"]],
    [
      "another CA's key",
      ["--genesis", "agents/lauren.genesis.json", "--ca-key", ".agtp/keys/signing.pem"],
    ],
  ])("exit 2 for %s, and write nothing", async (_, flags) => {
    const { program } = await makeAuthority();
    const before = readdirSync(join(program.directory, ".agtp/keys"));
    const { exitCode, out } = await program.run("agent-cert", ...BY_CA, ...flags);
    expect([exitCode, out]).toEqual([2, ""]);
    expect(readdirSync(join(program.directory, ".agtp/keys"))).toEqual(before);
  });
});

describe("the command line of agtp-keys", () => {
  it("explains itself, and says its version", async () => {
    const program = makeKeysProgram();
    const { exitCode, out } = await program.run("--help");
    expect(exitCode).toBe(0);
    for (const word of ["signing", "genesis", "agent-ca", "agent-cert", "verify"]) {
      expect(out).toContain(word);
      const help = await program.run(word, "--help");
      expect(help.exitCode).toBe(0);
      expect(help.out).toContain("--json");
    }
    expect((await program.run("--version")).out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it.each([
    [[]],
    [["unknown"]],
    [["signing", "surplus"]],
    [["signing", "--unknown"]],
    [["genesis"]],
    [["genesis", "--name", "x"]],
    [["agent-cert", "--agent-id", "x"]],
    [["verify"]],
    [["verify", "--chain"]],
    [["verify", "--chain", "."]],
    [["verify", "--chain", ".", "--agent", "x"]],
    [["verify", "x.json", "--chain", ".", "--agent", "ab".repeat(32)]],
  ])("exits 2 for %j", async (args) => {
    const { exitCode, out, err } = await makeKeysProgram().run(...args);
    expect([exitCode, out]).toEqual([2, ""]);
    expect(err).not.toBe("");
  });
});
