import { readdirSync } from "node:fs";
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { canonicalDigest } from "../../../src/identity/canonical-form.ts";
import {
  checkTightening,
  judgeDelegation,
} from "../../../src/modules/agentcli/identity/delegation.ts";
import type { AskJson, World } from "../../../src/modules/agentcli/world.ts";
import { call, manifestOf, promptTask, shellTask, testWorld } from "../../support/agentcli.ts";
import { makeDirectory } from "../../support/directory.ts";

type Members = Readonly<Record<string, unknown>>;

const SECRET = "inspection-secret-value";

function operatorManifest(members: Members = {}, profile: Members = {}): Members {
  return manifestOf([shellTask("true", [], { id: "task" })], {
    identity_profiles: [
      {
        ...{ id: "operator", provider: "env-bearer" },
        subject: { kind: "service", principal: "agent://test/operator" },
        auth: { required: true, provider_config: { token_env: "INSPECTION_TOKEN" } },
        trust: { level: "supervised" },
        ...profile,
      },
    ],
    authorization_profiles: [{ id: "permit", provider: "none" }],
    workflow: { identity: { ref: "operator" }, authorization: { ref: "permit" }, ...members },
  });
}

function ask(method: string, params: Members, world: Partial<World> = {}) {
  const env = { INSPECTION_TOKEN: SECRET };
  return call(
    `agentcli.${method}`,
    { taskId: "task", ...params },
    { world: testWorld({ env, ...world }) },
  );
}

// agentcli protocol "agentcli.identity.resolve"
describe("identity.resolve", () => {
  it("shows everything of a session but its secrets", async () => {
    const response = await ask("identity.resolve", { manifest: operatorManifest() });
    expect(response["result"]).toMatchObject({
      ok: true,
      declared_identity: {
        provider: "env-bearer",
        subject: { principal: "agent://test/operator", kind: "service", issuer: null },
        trust_level: "supervised",
      },
      resolved_identity: {
        provider: "env-bearer",
        trust: { declared_level: "supervised", effective_level: "supervised" },
        delegation_chain: [
          { principal: "agent://test/operator", grant: "bearer-token", validated: true },
        ],
        delegation_validation: { valid: true, depth: 1, acyclic: true, all_grants_present: true },
        credentials: { access_token: { kind: "bearer", value: "[REDACTED]" } },
        credential_summary: { credential_types: ["access_token"], expires_at: null },
      },
      principal_used: "agent://test/operator",
    });
    expect(JSON.stringify(response)).not.toContain(SECRET);
  });

  it("resolves prompt tasks, and 0.1 manifests without a session", async () => {
    const manifest = manifestOf([promptTask({ id: "task" })], { version: "0.1" });
    expect((await ask("identity.resolve", { manifest }))["result"]).toEqual({
      ok: true,
      declared_identity: { principal: null, run_as: null, attestation: null },
      resolved_identity: null,
      principal_used: "tester@host",
    });
  });

  it.each<[string, Members, World["env"], string]>([
    ["a missing token", {}, {}, "token_not_found"],
    [
      "trust beyond what is allowed",
      { trust: { level: "autonomous", constraints: { max_autonomy: "restricted" } } },
      { INSPECTION_TOKEN: SECRET },
      "trust_level_insufficient",
    ],
  ])("fails with %s", async (_, profile, env, code) => {
    const manifest = operatorManifest({}, profile);
    const { error } = await ask("identity.resolve", { manifest }, { env });
    expect(error).toMatchObject({ code: -32000, data: { code, error_type: "validation_error" } });
  });

  it("does without a token that is not required", async () => {
    const auth = { required: false, provider_config: { token_env: "NONE" } };
    const { result } = await ask("identity.resolve", { manifest: operatorManifest({}, { auth }) });
    expect(result?.["resolved_identity"]).toMatchObject({ credentials: {}, delegation_chain: [] });
  });

  it("reads a token from a file, and says what is wrong with the file", async () => {
    const directory = makeDirectory({ token: `${SECRET}\n`, empty: " \n" });
    const resolve = (file: string) => {
      const profile = { provider: "file-bearer", auth: { provider_config: { token_file: file } } };
      const manifest = operatorManifest({}, profile);
      return ask("identity.resolve", { manifest }, { directory });
    };
    expect((await resolve("token"))["result"]).toMatchObject({
      resolved_identity: { credentials: { access_token: { value: "[REDACTED]" } } },
    });
    expect((await resolve("empty"))["error"]).toMatchObject({ data: { code: "token_file_empty" } });
    expect((await resolve("gone"))["error"]).toMatchObject({
      data: { code: "token_file_not_found" },
    });
  });

  it("lists what there is when a task is not found", async () => {
    const manifest = operatorManifest();
    const { error } = await ask("identity.resolve", { manifest, taskId: "nope" });
    expect(error?.["message"]).toBe("Task not found: nope in workflow w1. Available: task");
    expect((await ask("identity.resolve", { manifest, workflowId: "x" }))["error"]).toMatchObject({
      ...{ code: -32602, message: "Workflow not found: x" },
    });
    const two = {
      ...manifest,
      workflows: [
        ...(manifest["workflows"] as object[]),
        { id: "b", name: "B", tasks: [promptTask()] },
      ],
    };
    expect((await ask("identity.resolve", { manifest: two }))["error"]?.["message"]).toBe(
      "Multiple workflows found; specify --workflow. Available: w1, b",
    );
  });
});

// agentcli execution identity "Delegation"
describe("delegation", () => {
  const hop = (principal: string, grant: string | null = "g") => ({
    ...{ kind: "agent", principal, grant, validated: true, expires_at: null },
  });
  const policy = (members: Members = {}) => ({
    auth: {
      delegation_policy: {
        ...{ max_depth: null, allowed_delegators: null, require_grant_per_hop: null },
        ...members,
      },
    } as never,
  });

  it.each([
    [[], {}, true],
    [[hop("a")], {}, true],
    [[hop("a"), hop("b")], {}, false],
    [[hop("a"), hop("b")], { max_depth: 2 }, true],
    [[hop("a"), hop("a")], { max_depth: 2 }, false],
    [[hop("a", null)], {}, false],
    [[hop("a", null)], { require_grant_per_hop: false }, true],
    [[hop("a"), hop("b")], { max_depth: 2, allowed_delegators: ["c"] }, false],
  ])("judges %j under %j", (chain, members, valid) => {
    expect(judgeDelegation({ delegation_chain: chain }, policy(members))).toMatchObject({ valid });
  });

  it.each([
    [{ max_depth: 2 }, { max_depth: 3 }, false],
    [{ max_depth: 2 }, { max_depth: 1 }, true],
    [{ require_grant_per_hop: true }, { require_grant_per_hop: false }, false],
    [{ allowed_delegators: ["a", "b"] }, { allowed_delegators: ["a"] }, true],
    [{ allowed_delegators: ["a"] }, { allowed_delegators: ["a", "c"] }, false],
    [{ allowed_delegators: ["a"] }, { allowed_delegators: [] }, false],
  ])("lets %j be narrowed to %j: %s", (broad, narrow, isAllowed) => {
    const fault = checkTightening([broad, null, narrow]);
    expect(fault?.code).toBe(isAllowed ? undefined : "identity_delegation_invalid");
  });

  it("is answered by its method", async () => {
    const { result } = await ask("identity.validateDelegation", { manifest: operatorManifest() });
    expect(result).toEqual({
      ok: true,
      delegation: { valid: true, depth: 1, acyclic: true, all_grants_present: true, reasons: [] },
    });
  });
});

// agentcli protocol "agentcli.authorization.evaluate"
describe("authorization.evaluate", () => {
  const opa = (members: Members = {}) => ({
    ...{
      id: "permit",
      provider: "opa",
      provider_config: { endpoint: "http://127.0.0.1:1/v1/data/x" },
    },
    ...members,
  });
  const evaluate = (profile: Members, askJson: AskJson, members: Members = {}) => {
    const manifest = { ...operatorManifest(members), authorization_profiles: [profile] };
    return ask("authorization.evaluate", { manifest }, { askJson });
  };
  const says =
    (result: unknown): AskJson =>
    () =>
      Promise.resolve({ kind: "json", value: { result }, maxAgeSeconds: undefined });

  it("permits where nothing is configured to decide", async () => {
    const { result } = await ask("authorization.evaluate", { manifest: operatorManifest() });
    const reason = "no external authorization configured; default permit";
    expect(result).toEqual({
      ok: true,
      decision: { allowed: true, reason, kind: "permit" },
      authorization: {
        decision: "permit",
        provider: "none",
        reason,
        policy_ref: null,
        escalation: null,
      },
    });
  });

  it.each<[unknown, Members, string]>([
    [true, {}, "permit"],
    [false, {}, "deny"],
    [{ allow: true, reason: "fine" }, {}, "permit"],
    ["require-escalation", {}, "require-escalation"],
    ["whatever", {}, "deny"],
    [17, {}, "deny"],
    ["yes", { decision: { allow_values: ["yes"] } }, "permit"],
    [true, { decision: { allow_values: ["yes"] } }, "deny"],
    ["ask", { decision: { escalate_values: ["ask"] } }, "require-escalation"],
  ])("takes %j with %j for %s", async (answer, members, kind) => {
    const { result } = await evaluate(opa(members), says(answer));
    expect(result?.["decision"]).toMatchObject({ kind, allowed: kind === "permit" });
  });

  it("asks with the sections that the profile wants, and never with a secret", async () => {
    const seen: unknown[] = [];
    const askJson: AskJson = (_, body) => {
      seen.push(body);
      return says(true)("");
    };
    await evaluate(opa(), askJson);
    await evaluate(opa({ request: { include: ["trust"] } }), askJson);
    expect(seen).toEqual([
      {
        input: {
          source: { workflow_id: "w1", task_id: "task" },
          identity: { principal: "agent://test/operator", trust_level: "supervised" },
          contract: { required_trust_level: null, allowed_paths: null },
          command: { program: "true", args: [] },
        },
      },
      {
        input: {
          source: { workflow_id: "w1", task_id: "task" },
          trust: { declared_level: "supervised", effective_level: "supervised" },
        },
      },
    ]);
  });

  it("names the policy without the secrets of its address", async () => {
    const endpoint = "http://user:pass@opa.example:8181/v1/data/x?key=secret";
    const { result } = await evaluate(opa({ provider_config: { endpoint } }), says(true));
    expect(result?.["authorization"]?.["policy_ref"]).toBe("http://opa.example:8181/v1/data/x");
  });

  it("fails closed when the engine does not answer, unless the manifest says otherwise", async () => {
    const askJson: AskJson = () => Promise.resolve({ kind: "fault", message: "answered HTTP 500" });
    expect((await evaluate(opa(), askJson))["error"]).toMatchObject({
      ...{ code: -32000, data: { code: "authorization_error" } },
    });
    expect((await evaluate(opa({ on_error: "warn" }), askJson))["result"]).toMatchObject({
      decision: { allowed: true, reason: "authorization provider error (on_error: warn)" },
    });
  });

  it("judges trust first", async () => {
    const contract = { required_trust_level: "autonomous", trust_enforcement: "strict" };
    expect((await evaluate(opa(), says(true), { contract }))["error"]).toMatchObject({
      code: -32000,
      message: 'Trust level "supervised" is below required "autonomous"',
      data: { code: "trust_level_insufficient" },
    });
    const advisory = { ...contract, trust_enforcement: "advisory" };
    expect((await evaluate(opa(), says(true), { contract: advisory }))["result"]).toMatchObject({
      warnings: ['Trust level "supervised" is below required "autonomous" (advisory)'],
    });
  });

  it("needs 0.2, and an authorization to evaluate", async () => {
    const old = manifestOf([promptTask({ id: "task" })], { version: "0.1" });
    expect((await ask("authorization.evaluate", { manifest: old }))["error"]?.["message"]).toBe(
      "Authorization evaluation requires a version 0.2 manifest",
    );
    const bare = manifestOf([promptTask({ id: "task" })]);
    expect((await ask("authorization.evaluate", { manifest: bare }))["error"]).toMatchObject({
      code: -32602,
      message: "--require-authorization specified but no authorization block resolved",
    });
  });
});

// agentcli execution identity "Authorization proof"
describe("authorization proofs", () => {
  async function proven(claims: Members, members: Members = {}) {
    const { privateKey, publicKey } = await generateKeyPair("ES256");
    const manifest = manifestOf(
      [promptTask({ id: "task", authorization_proof: { ref: "p", verify: { required: true } } })],
      {
        authorization_proof_profiles: [
          {
            ...{ id: "p", method: "jwt", issuer: "ci", audience: "agtpd" },
            public_key: await exportSPKI(publicKey),
            claims: { environment: "prod" },
            proof: { value_from: { env: "PROOF" } },
            ...members,
          },
        ],
      },
    );
    const token = await new SignJWT({
      environment: ["prod", "test"],
      ...claims,
      ...digestOf(claims, manifest),
    })
      .setProtectedHeader({ alg: "ES256" })
      .setIssuer("ci")
      .setAudience("agtpd")
      .setExpirationTime("5m")
      .sign(privateKey);
    return { manifest, token };
  }
  const digestOf = (claims: Members, manifest: Members) =>
    "manifest_digest" in claims ? {} : { manifest_digest: canonicalDigest(manifest) };
  const resolve = (manifest: Members, PROOF: string) =>
    ask("identity.resolve", { manifest }, { env: { PROOF } });

  it("hold when they are signed and bound to this manifest", async () => {
    const { manifest, token } = await proven({});
    expect((await resolve(manifest, token))["result"]).toMatchObject({ ok: true });
  });

  it.each([
    ["another manifest", { manifest_digest: "sha256:00" }, /manifest_digest/],
    ["another claim", { environment: "dev" }, /environment/],
  ])("do not hold for %s", async (_, claims, message) => {
    const { manifest, token } = await proven(claims);
    const { error } = await resolve(manifest, token);
    expect(error).toMatchObject({ code: -32000, data: { code: "authorization_proof_failed" } });
    expect(error?.["message"]).toMatch(message);
  });

  it("do not hold when somebody else signed, when nobody did, and when there is none", async () => {
    const { manifest, token } = await proven({});
    const other = await proven({});
    const [, payload] = token.split(".");
    const none = `${Buffer.from('{"alg":"none"}').toString("base64url")}.${payload}.`;
    for (const proof of [other.token, none, "x", ""]) {
      const { error } = await resolve(manifest, proof);
      expect(error).toMatchObject({ data: { code: "authorization_proof_failed" } });
    }
  });

  it("are verified with the key of a key set that they name", async () => {
    const { privateKey, publicKey } = await generateKeyPair("ES256");
    const jwks_uri = "https://keys.example/jwks";
    const { manifest } = await proven({}, { public_key: undefined, jwks_uri });
    const prove = (kid: string) =>
      new SignJWT({ environment: "prod", manifest_digest: canonicalDigest(manifest) })
        .setProtectedHeader({ alg: "ES256", kid })
        .setIssuer("ci")
        .setAudience("agtpd")
        .sign(privateKey);
    const key = { ...(await exportJWK(publicKey)), kid: "k1" };
    const askJson: AskJson = async (url) =>
      url === jwks_uri
        ? { kind: "json", value: { keys: [key] }, maxAgeSeconds: undefined }
        : { kind: "fault", message: "is not there" };
    const verify = async (PROOF: string) =>
      ask("identity.resolve", { manifest }, { env: { PROOF }, askJson });
    expect((await verify(await prove("k1")))["result"]).toMatchObject({ ok: true });
    expect((await verify(await prove("k2")))["error"]).toMatchObject({
      data: { code: "authorization_proof_failed" },
    });
  });

  it("run no command to be had", async () => {
    const { manifest } = await proven({}, { proof: { value_from: { command: "touch /nowhere" } } });
    const runProgram = () => Promise.reject(new Error("a command was run"));
    const { error } = await ask("identity.resolve", { manifest }, { runProgram });
    expect(error?.["message"]).toMatch(/its command is not run here/);
  });

  it("are judged by a method, and a command that makes them is run by leave", async () => {
    const { manifest, token } = await proven({});
    const verify = (params: Members, PROOF: string) =>
      ask("authorizationProof.verify", params, {
        env: { PROOF, PATH: process.env["PATH"] ?? "" },
      });
    const { result } = await verify({ manifest }, token);
    expect(result).toEqual({
      ok: true,
      authorization_proof: {
        ...{ ref: "p", required: true, method: "jwt", verified: true, reason: null },
      },
      effective_task_hash: expect.stringMatching(/^sha256:/),
      manifest_digest: canonicalDigest(manifest),
    });
    const refused = await verify({ manifest }, "x");
    expect(refused["error"]).toMatchObject({ data: { code: "authorization_proof_failed" } });
    const made = manifestOf([promptTask({ id: "task", authorization_proof: { ref: "p" } })], {
      authorization_proof_profiles: [
        { id: "p", method: "none", proof: { value_from: { command: "touch made; echo x" } } },
      ],
    });
    const directory = makeDirectory();
    const world = { directory, env: { PATH: process.env["PATH"] ?? "" } };
    const run = (params: Members) =>
      ask("authorizationProof.verify", { manifest: made, ...params }, world);
    expect((await run({}))["result"]).toMatchObject({
      authorization_proof: { method: "none", verified: false },
    });
    expect(readdirSync(directory)).toEqual([]);
    expect((await run({ allowProofCommand: true }))["result"]).toMatchObject({ ok: true });
    expect(readdirSync(directory)).toEqual(["made"]);
  });

  it("are none of a task that names none, nor of 0.1", async () => {
    const tasks = [promptTask({ id: "task" })];
    const none = await ask("authorizationProof.verify", { manifest: manifestOf(tasks) });
    expect(none["result"]).toMatchObject({ ok: true, authorization_proof: null });
    const old = { manifest: manifestOf(tasks, { version: "0.1" }) };
    expect((await ask("authorizationProof.verify", old))["error"]).toMatchObject({
      code: -32602,
      message: "Authorization proof verification requires a version 0.2 manifest",
    });
  });
});
