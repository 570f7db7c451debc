/** Chains of delegation that a provider yields, and what follows on a task inherits of its identity. */
import { exportSPKI, generateKeyPair, SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { call, type Json, manifestOf, shellTask, testWorld } from "../../support/agentcli.ts";

type Members = Readonly<Record<string, unknown>>;

const ISSUER = await generateKeyPair("ES256");
const PEM = await exportSPKI(ISSUER.publicKey);

/** A token for a customer that a desk handed to an agent. */
function tokenOf(claims: Members, key = ISSUER.privateKey): Promise<string> {
  return new SignJWT({ sub: "customer", act: { sub: "agent", act: { sub: "desk" } }, ...claims })
    .setProtectedHeader({ alg: "ES256" })
    .sign(key);
}

const SOON = Math.floor(Date.now() / 1000) + 600;
const POLICY = { max_depth: 3, allowed_delegators: ["desk", "customer"] };

function delegated(policy: Members = POLICY, settings: Members = {}, auth: Members = {}): Members {
  return manifestOf([shellTask("true", [], { id: "task" })], {
    identity_profiles: [
      {
        ...{ id: "d", provider: "delegated-bearer" },
        auth: {
          mode: "on-behalf-of",
          delegation_policy: policy,
          provider_config: { token_env: "T", public_key: PEM, ...settings },
          ...auth,
        },
      },
    ],
    workflow: { identity: { ref: "d" } },
  });
}

async function ask(method: string, manifest: Members, T: string): Promise<Json> {
  const world = testWorld({ env: { T } });
  return call(`agentcli.identity.${method}`, { manifest, taskId: "task" }, { world });
}

async function judge(claims: Members, policy?: Members): Promise<Json | undefined> {
  const answer = await ask("validateDelegation", delegated(policy), await tokenOf(claims));
  return answer["result"]?.["delegation"];
}

// agentcli protocol "agentcli.identity.validateDelegation", RFC 8693 §4.1
describe("a chain that a token yields", () => {
  it("is looked at hop by hop, the holder first", async () => {
    const delegation = await judge({ exp: SOON, jti: "grant-1" });
    expect(delegation).toMatchObject({
      ...{ valid: true, depth: 3, acyclic: true, all_grants_present: true, reasons: [] },
      hop_status: [
        { index: 0, principal: "agent", grant_present: true, validated: true },
        { index: 1, principal: "desk" },
        { index: 2, principal: "customer", grant: "grant-1" },
      ],
    });
    expect(delegation?.["hop_status"]?.[0]?.["expires_at"]).toBe(
      new Date(SOON * 1000).toISOString(),
    );
  });

  it.each<[string, Members, Members, RegExp]>([
    ["too many hops", {}, { ...POLICY, max_depth: 2 }, /3 hops, at most 2/],
    ["hops without a policy", {}, {}, /3 hops, at most 1/],
    [
      "a delegator who may not",
      {},
      { ...POLICY, allowed_delegators: ["desk"] },
      /"customer" is not among the allowed/,
    ],
    ["a circle", { sub: "agent" }, { max_depth: 9 }, /stands in the chain twice/],
    ["a token that has ended", { exp: 1_000 }, POLICY, /grant of hop 0 has expired/],
    [
      "an actor whose turn has ended",
      { exp: SOON, act: { sub: "agent", act: { sub: "desk", exp: 1_000 } } },
      POLICY,
      /grant of hop 1 has expired/,
    ],
  ])("is not valid for %s, and says so", async (_, claims, policy, reason) => {
    const delegation = await judge(claims, policy);
    expect(delegation?.["valid"]).toBe(false);
    expect(JSON.stringify(delegation?.["reasons"])).toMatch(
      new RegExp(reason.source.replaceAll('"', '\\\\"')),
    );
  });

  it("lets nobody run a task where it is not valid, whatever a policy permits", async () => {
    const evaluate = async (policy: Members) => {
      const manifest = {
        ...delegated(policy),
        authorization_profiles: [{ id: "z", provider: "none" }],
      };
      const [workflow] = (manifest as unknown as { workflows: readonly Members[] }).workflows;
      const workflows = [{ ...workflow, authorization: { ref: "z" } }];
      const world = testWorld({ env: { T: await tokenOf({ exp: SOON }) } });
      const params = { manifest: { ...manifest, workflows }, taskId: "task" };
      return call("agentcli.authorization.evaluate", params, { world });
    };
    expect((await evaluate(POLICY))["result"]).toMatchObject({ decision: { allowed: true } });
    expect((await evaluate({ max_depth: 2 }))["error"]).toMatchObject({
      code: -32000,
      message: "the chain of delegation is not valid: the chain has 3 hops, at most 2 may be",
      data: { code: "identity_delegation_invalid" },
    });
  });

  it("counts for nothing when somebody else signed it, or nobody", async () => {
    const stranger = await generateKeyPair("ES256");
    const forged = await tokenOf({}, stranger.privateKey);
    const none = `${Buffer.from('{"alg":"none"}').toString("base64url")}.${forged.split(".")[1]}.`;
    for (const token of [forged, none, "opaque"]) {
      const { error } = await ask("validateDelegation", delegated(), token);
      expect(error).toMatchObject({ data: { code: "identity_resolution_failed" } });
    }
    for (const [claims, reason] of [
      [{ nbf: SOON }, /is not good yet/],
      [{ nbf: "now" }, /has an nbf that is no time/],
      [{ exp: "never" }, /has an exp that is no time/],
      [{ act: { sub: "agent", nbf: SOON } }, /has an actor that is not good yet/],
    ] as const) {
      const { error } = await ask("resolve", delegated(), await tokenOf(claims));
      expect(error?.["message"]).toMatch(reason);
    }
    for (const claims of [{ sub: 7 }, { act: "agent" }, { act: { sub: 1 } }]) {
      const { error } = await ask("resolve", delegated(), await tokenOf(claims));
      expect(error?.["message"]).toMatch(/the delegated token has/);
    }
  });

  it("is for the audience that its identity declares", async () => {
    const manifest = delegated(POLICY, {}, { audience: "agtp://acme" });
    const audiences = ["agtp://acme", ["x", "agtp://acme"], "agtp://other", [], undefined];
    const said = audiences.map(async (aud) => {
      const { error } = await ask("resolve", manifest, await tokenOf({ aud, exp: SOON }));
      return error?.["message"];
    });
    const refused = expect.stringMatching(/is not for "agtp:\/\/acme"/);
    expect(await Promise.all(said)).toEqual([undefined, undefined, refused, refused, refused]);
  });

  it("needs to be told one token and one key", async () => {
    const validate = async (settings: Members) => {
      const { result = {} } = await call("agentcli.validate", {
        manifest: delegated({}, settings),
      });
      return (result["errors"] as unknown as readonly { path: string }[]).map(({ path }) => path);
    };
    const at = "$.identity_profiles[0].auth.provider_config";
    expect(await validate({})).toEqual([]);
    expect(await validate({ token_file: "t" })).toEqual([`${at}.token_env`]);
    expect(await validate({ jwks_uri: "https://x.example" })).toEqual([`${at}.public_key`]);
    expect(await validate({ public_key: "x" })).toEqual([`${at}.public_key`]);
  });
});

const bearer = (id: string, members: Members = {}, trust: Members = {}): Members => ({
  ...{ id, provider: "env-bearer", subject: { principal: id }, trust },
  auth: { provider_config: { token_env: id.toUpperCase() }, ...members },
});

/** A task with an identity, and one that follows on it. */
function family(policy: string | undefined, child: Members = {}, parent: Members = {}): Members {
  const follows = { trigger: { parent: "first", on: "success" }, schedule: undefined };
  const set = policy === undefined ? {} : { child_credential_policy: policy };
  return manifestOf(
    [
      shellTask("true", [], { id: "first", identity: { ref: "parent" }, ...parent }),
      shellTask("true", [], { id: "task", ...follows, ...set, ...child }),
    ],
    {
      identity_profiles: [
        bearer("parent", { scopes: ["read", "write"] }, { level: "restricted" }),
        bearer("child", { scopes: ["read"] }, { level: "restricted" }),
        bearer("wide", { scopes: ["read", "admin"] }, { level: "restricted" }),
        bearer("bold", { scopes: ["read"] }, { level: "autonomous" }),
      ],
    },
  );
}

async function resolve(manifest: Members): Promise<Json> {
  const env = { PARENT: "p", CHILD: "c", WIDE: "w", BOLD: "b" };
  const world = testWorld({ env });
  return call("agentcli.identity.resolve", { manifest, taskId: "task" }, { world });
}

// agentcli execution identity "Child credentials"
describe("child_credential_policy", () => {
  const CHILD = { identity: { ref: "child" } };

  it.each([
    [undefined, CHILD, "child", 1],
    ["independent", CHILD, "child", 1],
    ["none", CHILD, "child", 0],
    ["inherit", CHILD, "parent", 1],
    ["inherit", {}, "parent", 1],
    ["downscope", CHILD, "child", 1],
  ])("%s: with %j the task acts as %s", async (policy, child, principal, depth) => {
    const { result } = await resolve(family(policy, child));
    expect(result).toMatchObject({
      principal_used: principal,
      resolved_identity: { delegation_validation: { depth } },
    });
    expect(Object.keys(result?.["resolved_identity"]?.["credentials"] ?? {})).toHaveLength(depth);
  });

  it.each([
    ["a scope that its parent lacks", { identity: { ref: "wide" } }, /"admin", which its parent/],
    ["more trust than its parent", { identity: { ref: "bold" } }, /is trusted further/],
    ["no identity of its own", {}, /an identity and auth.scopes of its own/],
  ])("downscope refuses %s", async (_, child, message) => {
    const { error } = await resolve(family("downscope", child));
    expect(error).toMatchObject({ data: { code: "identity_delegation_invalid" } });
    expect(error?.["message"]).toMatch(message);
  });

  it("is the parent's where the task has none, and holds for tasks without a parent not at all", async () => {
    const manifest = family(undefined, CHILD, { child_credential_policy: "none" });
    expect((await resolve(manifest))["result"]).toMatchObject({
      resolved_identity: { credentials: {} },
    });
    const root = manifestOf([
      shellTask("true", [], { id: "task", child_credential_policy: "none" }),
    ]);
    expect((await resolve(root))["result"]).toMatchObject({ ok: true });
  });

  it("ends in a circle of parents", async () => {
    const follow = (id: string, parent: string) =>
      shellTask("true", [], { id, schedule: undefined, trigger: { parent, on: "success" } });
    const manifest = manifestOf([follow("task", "b"), follow("b", "task")], {
      workflow: { child_credential_policy: "inherit" },
    });
    expect((await resolve(manifest))["error"]).toMatchObject({
      data: { code: "identity_delegation_invalid" },
    });
  });
});
