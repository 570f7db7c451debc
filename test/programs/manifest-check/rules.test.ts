import { beforeAll, describe, expect, it } from "vitest";
import type { Catalog } from "../../../src/catalog/catalog.ts";
import { loadCatalog, shippedCatalogPath } from "../../../src/catalog/catalog-file.ts";
import { checkManifest } from "../../../src/programs/manifest-check/check-manifest.ts";
import { FindingList } from "../../../src/programs/manifest-check/findings.ts";
import { agentFile, configFile, createDeployment, endpointFile } from "../../support/deployment.ts";
import { createServer } from "../../support/dispatch.ts";

/** A manifest that a test takes apart; what is read of it is there. */
type Tree = { [name: string]: Tree };

let text = "";
let catalog: Catalog | undefined;

beforeAll(async () => {
  catalog = loadCatalog(shippedCatalogPath(), "methods.json").catalog;
  const deployment = createDeployment({
    "agtp-server.toml": configFile({
      server: { operator: "Acme", contact: "ops@acme.example" },
      apis: [{ name: "orders", base_url: "https://orders.example" }],
      hosted_protocols: [{ protocol: "mcp", method: "BOOK", path: "/rooms/{room_id}" }],
      policies: {
        methods: {
          custom: ["FROBNICATE"],
          aliases: { GET: "FETCH" },
          redirects: [{ from_method: "BUY", to_method: "BOOK", to_path: "/rooms/1" }],
        },
      },
    }),
    "endpoints/book.toml": endpointFile({
      method: "BOOK",
      path: "/rooms/{room_id}",
      properties: { room_id: { type: "string" } },
      errors: ["room_unavailable"],
      required_scopes: ["booking:room"],
      deprecated: { deprecated_in: "1.0", successor: { method: "RESERVE", path: "/suites" } },
      handler: { type: "registered_function", function: "handlers.echo" },
    }),
    "handlers.mjs": "export const echo = () => ({ body: {} });",
    "agents/alice.agent.json": agentFile({ agent_id: "a".repeat(64), name: "alice" }),
  });
  const server = await createServer(deployment);
  text = (await server.send({ method: "DISCOVER", path: "/" })).text;
  await server.close();
  deployment.remove();
});

const NOW = Date.parse("2100-01-01T00:00:00Z");

function check(change: (manifest: Tree) => unknown, more: object = {}) {
  const manifest = JSON.parse(text);
  const changed = change(manifest) ?? manifest;
  const findings = new FindingList();
  const context = { now: NOW, keys: [], isAnonymous: false, catalogOf: () => catalog, ...more };
  const result = checkManifest(changed, context, findings.report);
  const named = findings.list().map(({ severity, key, rule }) => [severity, key, rule]);
  return { result, findings: findings.list(), named };
}

const set = (path: string, value: unknown) => (manifest: Tree) => {
  const names = path.split("/").slice(1);
  const last = names.pop() ?? "";
  const owner = names.reduce((tree, name) => tree[name] as Tree, manifest);
  if (value === undefined) delete owner[last];
  else owner[last] = value as Tree;
};

const UNSIGNED = ["warning", "/manifest_signature", "8.8"];

describe("checkManifest", () => {
  it("finds no fault in the daemon's own, and warns that it is not signed", () => {
    expect(check(() => undefined).named).toEqual([UNSIGNED]);
  });

  it.each<[pointer: string, clause: string, value: unknown, at?: string]>([
    // The manifest and its versions
    ["/agtp_version", "8.2", undefined],
    ["/agtp_version", "8.2", 1],
    ["/agtp_version", "8.2", "one"],
    ["/agtp_api_version", "8.2", undefined],
    ["/document_version", "8.2", undefined],
    ["/document_version", "8.2", " "],
    ["/catalog_version", "8.2", undefined],
    ["/catalog_version", "4.1", "1.0"],
    ["/catalog_version", "4.1", "v1.0.0"],
    ["/catalog_version", "4.1", "1.0.0 "],
    ["/catalog_versions_supported", "8.2", undefined],
    ["/catalog_versions_supported", "4.3", []],
    ["/catalog_versions_supported", "4.3", ["2.0.0"]],
    ["/catalog_versions_supported", "4.8", ["1.0.0", "1.1.0"]],
    ["/catalog_versions_supported/0", "8.2", [7, "1.0.0"]],
    ["/catalog_versions_supported/1", "8.2", ["1.0.0", "1.0.0"]],
    ["/catalog_versions_supported/1", "4.1", ["1.0.0", "new"], "first of two"],
    // The server block
    ["/server", "8.3", undefined],
    ["/server", "8.3", []],
    ["/server/server_id", "8.3", undefined],
    ["/server/server_id", "8.3", ""],
    ["/server/domain", "8.3", "agtp://acme.example"],
    ["/server/domain", "8.3", 4480],
    ["/server/operator", "8.3", {}],
    ["/server/contact", "8.3", "Acme, Room 7"],
    ["/server/supported_features", "8.3", "synthesis"],
    ["/server/supported_features/0", "8.3", [1]],
    ["/server/issued", "8.3", undefined],
    ["/server/issued", "8.3", "yesterday"],
    ["/server/issued", "8.3", "2026-02-30T00:00:00Z"],
    ["/server/issued", "8.3", "2026-02-03"],
    ["/server/updated", "8.3", undefined],
    ["/server/updated", "8.3", "2001-01-01T00:00:00Z"],
    // The inventory of methods
    ["/embedded_methods", "8.4", undefined],
    ["/embedded_methods", "8.4", []],
    ["/embedded_methods/0", "8.4", { name: "BOOK" }, "replaces one"],
    ["/custom_methods", "8.4", "FROBNICATE"],
    ["/custom_methods/0", "3.2", ["frobnicate"]],
    ["/custom_methods/0", "3.2", ["X"]],
    ["/custom_methods/0", "3.3", ["QUERY"]],
    ["/custom_methods/0", "3.3", ["GET"]],
    ["/custom_methods/1", "8.4", ["SALUTE", "SALUTE"]],
    // Agents
    ["/agent_disclosure", "8.5", undefined],
    ["/agent_disclosure", "8.5", "limited"],
    ["/hosted_agents", "8.5", undefined],
    ["/hosted_agents", "8.5", {}],
    ["/hosted_agents/0", "8.5", [7]],
    ["/agent_disclosure_notice", "8.5", 7],
    // What else the server speaks
    ["/apis", "8.6", "none"],
    ["/apis/0", "8.6", ["https://orders.example"]],
    ["/apis/0/base_url", "8.6", "orders"],
    ["/hosted_protocols", "8.6", {}],
    ["/hosted_protocols/0", "8.6", ["mcp"]],
    ["/hosted_protocols/0/protocol", "8.6", undefined],
    ["/hosted_protocols/0/method", "8.6", undefined],
    ["/hosted_protocols/0/method", "3.2", "book"],
    ["/hosted_protocols/0/path", "8.6", undefined],
    ["/hosted_protocols/0/path", "5.1", "/rooms/"],
    // Policies
    ["/policies", "8.7", undefined],
    ["/policies/wildcards_accepted", "8.7", undefined],
    ["/policies/anonymous_discovery", "8.7", "yes"],
    ["/policies/scope_required_for_invocation", "8.7", 1],
    ["/policies/synthesis_enabled", "8.7", null],
    ["/policies/max_synthesis_depth", "8.7", undefined],
    ["/policies/max_synthesis_depth", "8.7", 0],
    ["/policies/max_synthesis_depth", "8.7", 1.5],
    ["/policies/methods", "9.2", "*"],
    ["/policies/methods/allow", "9.2", "BOOK"],
    ["/policies/methods/allow/0", "3.2", ["book"]],
    ["/policies/methods/disallow", "9.2", "BOOK"],
    ["/policies/methods/legacy", "9.2", "ALL"],
    ["/policies/methods/legacy/0", "9.4", ["HEAD"]],
    ["/policies/methods/aliases", "9.2", []],
    ["/policies/methods/aliases/GET", "9.2", { GET: "HIRE", HIRE: "BOOK" }],
    ["/policies/methods/aliases/GET", "3.2", { GET: "fetch" }],
    ["/policies/methods/redirects", "9.2", {}],
    ["/policies/methods/redirects/0", "9.2", ["BUY"]],
    ["/policies/methods/redirects/0/from_method", "9.2", undefined],
    ["/policies/methods/redirects/0/to_path", "5.1", "rooms"],
    // Endpoints
    ["/endpoints", "8.9", undefined],
    ["/endpoints/0", "6.2", "BOOK /rooms"],
    ["/endpoints/0/method", "6.3", undefined],
    ["/endpoints/0/method", "3.2", "book"],
    ["/endpoints/0/method", "3.6", "GET"],
    ["/endpoints/0/method", "6.4", "GRONK"],
    ["/endpoints/0/path", "6.3", undefined],
    ["/endpoints/0/path", "5.1", "rooms/{room_id}"],
    ["/endpoints/0/path", "5.1", "/rooms/{room_id}/"],
    ["/endpoints/0/path", "5.1", "/book/{room_id}"],
    ["/endpoints/0/path", "5.1", "/fro-bnicate/{room_id}"],
    ["/endpoints/0/path", "5.1", "/rooms/r-{room_id}"],
    ["/endpoints/0/path", "5.1", "/rooms/{room_id}/{room_id}"],
    ["/endpoints/0/description", "6.3", undefined],
    ["/endpoints/0/description", "6.4", ""],
    ["/endpoints/0/namespace", "6.4", 7],
    ["/endpoints/0/semantic", "6.3", undefined],
    ["/endpoints/0/semantic", "7.1", []],
    ["/endpoints/0/semantic/intent", "7.1", undefined],
    ["/endpoints/0/semantic/actor", "7.1", ""],
    ["/endpoints/0/semantic/outcome", "7.1", undefined],
    ["/endpoints/0/semantic/capability", "7.1", "barter"],
    ["/endpoints/0/semantic/confidence", "7.1", 1.1],
    ["/endpoints/0/semantic/impact", "7.1", "none"],
    ["/endpoints/0/semantic/is_idempotent", "7.1", "no"],
    ["/endpoints/0/input_schema", "6.3", undefined],
    ["/endpoints/0/input_schema", "6.4", true],
    ["/endpoints/0/input_schema/type", "6.4", "array"],
    ["/endpoints/0/input_schema/additionalProperties", "13.3", true],
    ["/endpoints/0/input_schema/additionalProperties", "13.3", undefined],
    ["/endpoints/0/input_schema/properties", "5.3", {}],
    ["/endpoints/0/input_schema/properties/room_id/type", "6.4", "text"],
    ["/endpoints/0/input_schema/required", "6.4", "room_id"],
    ["/endpoints/0/output_schema", "6.3", undefined],
    ["/endpoints/0/output_schema", "6.4", []],
    ["/endpoints/0/output_schema/type", "6.4", "thing"],
    ["/endpoints/0/errors", "6.3", undefined],
    ["/endpoints/0/errors", "6.4", "none"],
    ["/endpoints/0/errors/1", "6.4", ["a", "a"]],
    ["/endpoints/0/errors", "12.1", undefined, "composition"],
    ["/endpoints/0/errors", "12.3", undefined, "external_service"],
    ["/endpoints/0/handler", "6.3", undefined],
    ["/endpoints/0/handler", "8.9", "registered_function"],
    ["/endpoints/0/handler/type", "6.4", "python"],
    ["/endpoints/0/handler/function", "8.9", "rooms.book"],
    ["/endpoints/0/handler/url", "8.9", "https://internal.example"],
    ["/endpoints/0/recipe", "8.9", "audit"],
    ["/endpoints/0/required_scopes", "6.4", "booking:room"],
    ["/endpoints/0/required_scopes/0", "6.4", ["booking"]],
    ["/endpoints/0/deprecated", "6.5", true],
    ["/endpoints/0/deprecated/deprecated_in", "6.5", undefined],
    ["/endpoints/0/deprecated/removed_in", "6.5", 2],
    ["/endpoints/0/deprecated/successor", "6.5", {}],
    ["/endpoints/0/deprecated/successor/method", "3.6", "PUT"],
    ["/endpoints/0/deprecated/successor/path", "5.1", "suites"],
    // The signature
    ["/manifest_signature", "8.8", "signed"],
    ["/manifest_signature", "8.8", {}],
  ])("finds at %s by §%s that %j is wrong", (pointer, clause, value, how) => {
    const { named } = check((manifest) => {
      if (how === "composition" || how === "external_service") {
        set("/endpoints/0/handler/type", how)(manifest);
        return;
      }
      const isList = Array.isArray(value) || (typeof value === "object" && value !== null);
      const inside = /\/(?:\d+|GET)$/.test(pointer) && isList && how !== "replaces one";
      set(inside ? pointer.replace(/\/[^/]+$/, "") : pointer, value)(manifest);
    });
    const faults = named.filter(([severity]) => severity === "error");
    const expected = [["error", pointer, clause]];
    if (how === "replaces one") expected.push(["error", "/embedded_methods", "8.4"]);
    if (how === "first of two") expected.push(["error", "/catalog_versions_supported", "4.8"]);
    expect(faults).toEqual(expected);
  });

  it.each([
    ["two endpoints of one pair", "/endpoints/1", "5.4", "/rooms/{room_id}"],
    ["two that match the same paths", "/endpoints/1", "5.4", "/rooms/{id}"],
  ])("finds %s", (_, pointer, clause, path) => {
    const { named } = check((manifest) => {
      const list = manifest["endpoints"] as unknown as Tree[];
      const copy = structuredClone(list[0]) as Tree;
      copy["path"] = path as unknown as Tree;
      set("/input_schema/properties", { room_id: {}, id: {} })(copy);
      list.splice(1, 0, copy);
    });
    expect(named.filter(([severity]) => severity === "error")).toEqual([
      ["error", pointer, clause],
    ]);
  });

  // AGTP-API §5.9
  it.each(["/methods/v2", "/toolset", "/agents-extended", "/{any}"])(
    "finds that DISCOVER %s is reserved",
    (path) => {
      const { named } = check((manifest) => {
        set("/endpoints/1/path", path)(manifest);
        set("/endpoints/1/input_schema/properties", { any: {} })(manifest);
      });
      expect(named).toContainEqual(["error", "/endpoints/1/path", "5.9"]);
    },
  );

  it.each([[[]], ["text"], [7], [null], [true]])("finds that %j is no manifest", (value) => {
    const findings = new FindingList();
    const context = { now: NOW, keys: [], isAnonymous: false, catalogOf: () => catalog };
    checkManifest(value, context, findings.report);
    expect(findings.list()).toMatchObject([{ severity: "error", key: "", rule: "8.2" }]);
  });

  // AGTP-API §8.5
  it("finds agents where they are not to be disclosed", () => {
    const disclosed = (word: string, isAnonymous: boolean) =>
      check(set("/agent_disclosure", word), { isAnonymous }).named;
    const fault = ["error", "/hosted_agents", "8.5"];
    expect(disclosed("private", false)).toContainEqual(fault);
    expect(disclosed("authenticated", true)).toContainEqual(fault);
    expect(disclosed("authenticated", false)).not.toContainEqual(fault);
    expect(disclosed("public", true)).not.toContainEqual(fault);
  });

  it.each<[pointer: string, clause: string, value: unknown]>([
    ["/agtp_version", "8.2", "1.1"],
    ["/server/operator", "8.3", null],
    ["/server/contact", "8.3", undefined],
    ["/server/supported_features", "8.3", undefined],
    ["/server/updated", "8.3", "2101-01-01T00:00:00Z"],
    ["/server/colour", "8.3", "blue"],
    ["/polices", "8.2", {}],
    ["/custom_methods/1", "3.3", "BOOK"],
    ["/hosted_agents/0/agent_id", "8.5", "alice"],
    ["/hosted_protocols/0", "8.6", { protocol: "mcp", method: "EXECUTE", path: "/mcp" }],
    ["/policies/methods/allow/0", "9.4", "GRONK"],
    ["/endpoints/0/output_schema/additionalProperties", "13.3", false],
    ["/endpoints/0/semantic/mood", "7.1", "good"],
  ])("warns at %s by §%s of %j", (pointer, clause, value) => {
    const { named } = check((manifest) => {
      if (pointer.includes("/allow/")) set("/policies/methods/allow", [value])(manifest);
      else set(pointer, value)(manifest);
    });
    expect(named.filter((finding) => finding[1] !== "/manifest_signature")).toEqual([
      ["warning", pointer, clause],
    ]);
  });

  it("accepts what the draft leaves open", () => {
    const { named } = check((manifest) => {
      for (const name of [
        "custom_methods",
        "apis",
        "hosted_protocols",
        "agent_disclosure_notice",
      ]) {
        delete manifest[name];
      }
      set("/embedded_methods", [...(catalog?.embedded ?? [])])(manifest);
      set("/hosted_agents", ["a".repeat(64)])(manifest);
      set("/server/contact", "mailto:ops@acme.example")(manifest);
      set("/server/issued", "2017-01-01T00:59:60+01:00")(manifest);
      set("/endpoints/0/input_schema/x-note", "for others")(manifest);
      set("/policies/methods", undefined)(manifest);
    });
    expect(named).toEqual([UNSIGNED]);
  });

  it("says when the catalog that is named is not at hand", () => {
    const { named, result } = check(set("/endpoints/0/method", "GRONK"), {
      catalogOf: () => undefined,
    });
    expect(named).toContainEqual(["warning", "/catalog_version", "6.4"]);
    expect(named.map(([severity]) => severity)).not.toContain("error");
    expect(result.catalog).toBeUndefined();
  });

  it("is bounded in what it lists, and counts the rest", () => {
    const { findings } = check(set("/apis", Array(5000).fill(7)));
    expect(findings).toHaveLength(501);
    expect(findings.at(-1)?.message).toContain("more findings are not listed");
  });
});

// AGTP-API §8.2, §8.3, §8.11
describe("a manifest beside an earlier one", () => {
  const beside = (earlier: (manifest: Tree) => void, now: (manifest: Tree) => void) => {
    const manifest = JSON.parse(text);
    earlier(manifest);
    return check(now, { earlier: manifest }).named.filter((one) => one[1] !== UNSIGNED[1]);
  };
  const nothing = () => undefined;
  const later = set("/server/updated", "2099-01-01T00:00:00Z");

  it("is the same, or another version of it", () => {
    expect(beside(nothing, nothing)).toEqual([]);
    expect(beside(nothing, later)).toEqual([]);
    const revised = (manifest: Tree): void => {
      later(manifest);
      set("/document_version", "v3")(manifest);
      set("/apis", [])(manifest);
    };
    expect(beside(nothing, revised)).toEqual([]);
  });

  it.each<[string, string, (manifest: Tree) => void]>([
    ["error", "/server/server_id", set("/server/server_id", "other")],
    ["error", "/server/issued", set("/server/issued", "2020-01-01T00:00:00Z")],
    ["error", "/document_version", set("/apis", [])],
    ["warning", "/document_version", set("/document_version", "v3")],
  ])("has a %s at %s", (severity, pointer, change) => {
    const found = beside(nothing, (manifest) => {
      later(manifest);
      change(manifest);
    });
    expect(found.map((one) => one.slice(0, 2))).toContainEqual([severity, pointer]);
  });

  it("moves its time with its content, and never back", () => {
    const fault = ["error", "/server/updated", "8.3"];
    expect(beside(later, nothing)).toContainEqual(fault);
    expect(beside(nothing, set("/apis", []))).toContainEqual(fault);
  });
});
