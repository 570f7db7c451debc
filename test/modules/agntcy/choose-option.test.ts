import { describe, expect, it } from "vitest";
import { chooseOption } from "../../../src/modules/agntcy/choose-option.ts";
import { readManifest } from "../../../src/modules/agntcy/manifest/read-manifest.ts";
import { agentManifest, remote, SOURCE } from "../../support/agntcy.ts";

describe("chooseOption", () => {
  const service = { ...remote("https://a.example"), name: "svc" };
  const read = (options: readonly object[]) => {
    const { manifest } = readManifest(JSON.stringify(agentManifest({ options })), "m.json");
    if (manifest === undefined) throw new Error("the manifest is not valid");
    return manifest;
  };

  it("takes the option of a name, whatever its type", () => {
    const manifest = read([SOURCE, service]);
    expect(chooseOption(manifest, "svc", undefined)).toMatchObject({ kind: "callable" });
    expect(chooseOption(manifest, "src", undefined)).toMatchObject({ kind: "declared" });
    expect(chooseOption(manifest, "scr", undefined).kind).toBe("unknown");
  });

  it("takes the first that can be called, else the first", () => {
    expect(chooseOption(read([SOURCE, service]), undefined, undefined).kind).toBe("callable");
    const declared = chooseOption(read([SOURCE]), undefined, undefined);
    expect(declared).toMatchObject({ kind: "declared", option: { name: "src" } });
    expect(JSON.stringify(declared)).toContain("ORG_AGNTCY_MAILCOMPOSER_ENDPOINT");
  });

  it("calls what the operator has deployed", () => {
    const chosen = chooseOption(read([SOURCE]), "src", "https://b.example");
    expect(chosen).toMatchObject({ kind: "callable", service: { url: "https://b.example" } });
  });
});
