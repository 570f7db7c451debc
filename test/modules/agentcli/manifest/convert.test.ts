import { describe, expect, it } from "vitest";
import { convertManifest } from "../../../../src/modules/agentcli/manifest/convert.ts";
import { validateManifest } from "../../../../src/modules/agentcli/manifest/validate.ts";
import { call, manifestOf, promptTask } from "../../../support/agentcli.ts";

function manifest(tasks: readonly object[], workflow: object = {}) {
  return manifestOf(tasks as never, { version: "0.1", workflow });
}

// agentcli protocol "agentcli.convert"
describe("convertManifest", () => {
  it("changes only the version of a manifest without identities", () => {
    const before = manifest([promptTask()]);
    expect(convertManifest(before)).toEqual({ ...before, version: "0.2" });
  });

  it("makes a profile of each distinct identity, and a proof of each attestation", () => {
    const converted = convertManifest(
      manifest(
        [
          promptTask({ identity: { run_as: "root" } }),
          promptTask({ id: "t2" }),
          promptTask({ id: "t3", identity: { principal: "ops/team" } }),
          promptTask({
            id: "t4",
            on_failure: { prompt: "x", identity: { attestation: "ssh:abc" } },
          }),
        ],
        { identity: { principal: "agent:one" } },
      ),
    );
    expect(validateManifest(converted).errors).toEqual([]);
    expect(converted).toMatchObject({
      identity_profiles: [
        {
          id: "converted-agent-one",
          provider: "none",
          subject: {
            kind: "unknown",
            principal: "agent:one",
            run_as: null,
            delegation_mode: "none",
          },
          trust: { level: "supervised" },
          presentation: { handoff: "none", cleanup: "always" },
        },
        {
          id: expect.stringMatching(/^converted-agent-one-[0-9a-f]{10}$/),
          subject: { run_as: "root" },
        },
        { id: "converted-ops-team" },
      ],
      authorization_proof_profiles: [
        {
          id: expect.stringMatching(/^legacy-ssh-abc-[0-9a-f]{10}$/),
          method: "none",
          verify: { required: false },
        },
      ],
      workflows: [
        {
          identity: { ref: "converted-agent-one" },
          tasks: [
            { identity: { ref: expect.stringMatching(/^converted-agent-one-/) } },
            { id: "t2" },
            { identity: { ref: "converted-ops-team" } },
            {
              on_failure: {
                identity: { ref: "converted-agent-one" },
                authorization_proof: { ref: expect.stringMatching(/^legacy-/) },
              },
            },
          ],
        },
      ],
    });
    expect(JSON.stringify(converted)).not.toContain('"attestation"');
  });

  it("keeps an identity that is of the form of 0.2 already", () => {
    const before = manifest(
      [promptTask({ identity: { trust: { level: "restricted" } } }), promptTask({ id: "t2" })],
      { identity: { subject: { principal: "agent:one" } } },
    );
    expect(convertManifest(before)).toEqual({ ...before, version: "0.2" });
  });

  it("takes from the workflow what a task says null of", () => {
    const identity = { principal: null, run_as: "root" };
    const before = manifest([promptTask({ identity })], { identity: { principal: "agent:one" } });
    expect(convertManifest(before)).toMatchObject({
      identity_profiles: [{}, { subject: { principal: "agent:one", run_as: "root" } }],
    });
  });

  it("says what 0.2 would refuse", async () => {
    const { error } = await call("agentcli.convert", {
      manifest: manifest([promptTask({ colour: 1 })]),
    });
    expect(error).toMatchObject({
      code: -32602,
      data: {
        code: "validation_error",
        validation: { errors: [{ path: "$.workflows[0].tasks[0].colour" }] },
      },
    });
  });
});
