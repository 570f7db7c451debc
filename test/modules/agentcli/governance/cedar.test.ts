/** Cedar policies as the authorizer of tasks. */
import { describe, expect, it } from "vitest";
import { call, type Json, manifestOf, shellTask, testWorld } from "../../../support/agentcli.ts";
import { makeDirectory } from "../../../support/directory.ts";

type Members = Readonly<Record<string, unknown>>;

const PERMIT = `permit(principal == Principal::"ops", action == Action::"run", resource == Task::"w1/task")
  when { context.command.program == "true" && context.command.args.contains("--now") };`;

function governed(settings: Members, profile: Members = {}, principal = "ops"): Members {
  return manifestOf([shellTask("true", ["--now"], { id: "task" })], {
    identity_profiles: [{ id: "i", provider: "none", subject: { principal } }],
    authorization_profiles: [{ id: "c", provider: "cedar", provider_config: settings, ...profile }],
    workflow: { identity: { ref: "i" }, authorization: { ref: "c" } },
  });
}

async function evaluate(manifest: Members, directory = "/"): Promise<Json> {
  const world = testWorld({ directory });
  return call("agentcli.authorization.evaluate", { manifest, taskId: "task" }, { world });
}

// agentcli execution identity "Authorization"
describe("cedar", () => {
  it("permits what a policy permits, and denies the rest", async () => {
    const permitted = await evaluate(governed({ policies: PERMIT }));
    expect(permitted["result"]).toMatchObject({
      decision: { allowed: true, kind: "permit", reason: "decided by policy0" },
      authorization: { provider: "cedar", policy_ref: null },
    });
    const stranger = await evaluate(governed({ policies: PERMIT }, {}, "eve"));
    expect(stranger["result"]?.["decision"]).toEqual({
      ...{ allowed: false, kind: "deny", reason: "no policy permits it" },
    });
    const forbidden = `${PERMIT} forbid(principal, action, resource);`;
    expect((await evaluate(governed({ policies: forbidden })))["result"]).toMatchObject({
      decision: { kind: "deny", reason: "decided by policy1" },
    });
  });

  it("judges the identity also where its section is no part of the context", async () => {
    const policies = `permit(principal, action, resource) unless { context has identity };
      forbid(principal == Principal::"eve", action, resource);`;
    const kind = async (principal: string) => {
      const manifest = governed({ policies }, { request: { include: ["command"] } }, principal);
      return (await evaluate(manifest))["result"]?.["decision"]?.["kind"];
    };
    expect([await kind("ops"), await kind("eve")]).toEqual(["permit", "deny"]);
  });

  it("reads policies from a file, and entities with what they are in", async () => {
    const policies = `permit(principal in Team::"on-call", action == Action::"start", resource);`;
    const directory = makeDirectory({ "ops.cedar": policies });
    const uid = { type: "Agent", id: "ops" };
    const manifest = governed({
      ...{ policies_file: "ops.cedar", principal_type: "Agent", action: "start" },
      entities: [{ uid, attrs: {}, parents: [{ type: "Team", id: "on-call" }] }],
    });
    expect((await evaluate(manifest, directory))["result"]).toMatchObject({
      decision: { allowed: true },
      authorization: { policy_ref: "ops.cedar" },
    });
  });

  it.each([
    ["policies that are none", { policies: "permit(x" }],
    ["a file that is not there", { policies_file: "none.cedar" }],
    ["entities that are none", { policies: PERMIT, entities: [{ uid: 1 }] }],
    [
      "a policy that fails",
      { policies: `${PERMIT} forbid(principal, action, resource) when { context.nothing };` },
    ],
  ])("fails closed for %s, unless the manifest says otherwise", async (_, settings) => {
    const { error } = await evaluate(governed(settings));
    expect(error).toMatchObject({ data: { code: "authorization_error" } });
    const lenient = await evaluate(governed(settings, { on_error: "warn" }));
    expect(lenient["result"]).toMatchObject({ decision: { allowed: true } });
  });

  it.each([
    ["parentheses within parentheses", `${"(".repeat(500)}true${")".repeat(500)}`],
    ["a sum of many", `1${"+1".repeat(5_000)} == 1`],
  ])("goes on after policies that the engine cannot stand: %s", async (_, condition) => {
    const policies = `permit(principal, action, resource) when { ${condition} };`;
    const { error } = await evaluate(governed({ policies }));
    expect(error).toMatchObject({ data: { code: "authorization_error" } });
    const { result } = await evaluate(governed({ policies: PERMIT }));
    expect(result).toMatchObject({ decision: { allowed: true } });
  });

  it("says what its settings lack", async () => {
    const paths = async (settings: Members) => {
      const { result = {} } = await call("agentcli.validate", { manifest: governed(settings) });
      return (result["errors"] as unknown as readonly { path: string }[]).map(({ path }) =>
        path.replace("$.authorization_profiles[0].provider_config.", ""),
      );
    };
    expect(await paths({ policies: PERMIT })).toEqual([]);
    expect(await paths({})).toEqual(["policies"]);
    expect(await paths({ policies: PERMIT, policies_file: "x" })).toEqual(["policies"]);
    const wrong = { principal_type: "A B", resource_type: 1, action: "", entities: {}, polcy: 1 };
    expect(await paths({ policies: PERMIT, ...wrong })).toEqual([
      ...["principal_type", "resource_type", "action", "entities", "polcy"],
    ]);
  });
});
