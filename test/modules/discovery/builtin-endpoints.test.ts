import { describe, expect, it } from "vitest";
import { configFile, endpointFile } from "../../support/deployment.ts";
import { ALICE, BOB, discoveryFiles } from "../../support/discovery.ts";
import { openServer, type TestServer } from "../../support/dispatch.ts";

const RESERVED = ["methods", "agents", "genesis", "tools", "apis", "patterns", "contracts"];
const MANIFEST_TYPE = "application/vnd.agtp.manifest+json";

function discover(server: TestServer, path: string, agent?: string, body?: object) {
  const headers = agent === undefined ? {} : { "Agent-ID": agent };
  return server.send({
    method: "DISCOVER",
    path,
    headers,
    ...(body === undefined ? {} : { body }),
  });
}

// AGTP-API §5.8.3
describe("DISCOVER /", () => {
  it("is the directory to an agent and the manifest to nobody in particular", async () => {
    const server = await openServer(discoveryFiles());
    const directory = await discover(server, "/", ALICE);
    expect(directory.body).toEqual({
      directory: RESERVED.map((name) => ({ path: `/${name}`, tier: "A" })),
    });
    const manifest = await discover(server, "/");
    expect(manifest.headers.get("content-type")).toBe(MANIFEST_TYPE);
  });

  it("lists what really answers", async () => {
    const server = await openServer(discoveryFiles());
    for (const name of RESERVED) {
      const { status } = await discover(server, `/${name}`, ALICE);
      expect(status, name).toBe(name === "genesis" ? 404 : 200);
    }
  });

  it.each([`application/json, ${MANIFEST_TYPE}`, MANIFEST_TYPE.toUpperCase()])(
    "is the manifest to an agent that accepts %s",
    async (accept) => {
      const server = await openServer(discoveryFiles());
      const headers = { "Agent-ID": ALICE, Accept: accept };
      const reply = await server.send({ method: "DISCOVER", path: "/", headers });
      expect(reply.headers.get("content-type")).toBe(MANIFEST_TYPE);
    },
  );
});

// AGTP-API §5.8
describe("DISCOVER /methods", () => {
  it("lists every endpoint with its tier, itself included", async () => {
    const server = await openServer(discoveryFiles());
    const entries = (await discover(server, "/methods")).body as unknown as readonly object[];
    const pairs = entries.map((entry) => Object.values({ description: "", ...entry }).slice(1));
    expect(entries).toContainEqual({
      method: "BOOK",
      path: "/room",
      description: "An endpoint of a test.",
      tier: "B",
    });
    expect(entries).toContainEqual(
      expect.objectContaining({ method: "DISCOVER", path: "/methods", tier: "A" }),
    );
    expect(pairs).toHaveLength(3 + 1 + RESERVED.length);
    for (const entry of entries) {
      expect(Object.keys(entry).toSorted()).toEqual(["description", "method", "path", "tier"]);
    }
  });
});

// AGTP-API §5.8.2
describe("DISCOVER /agents", () => {
  it("is a bare array with the trust posture of every agent", async () => {
    const server = await openServer(discoveryFiles());
    expect((await discover(server, "/agents", BOB)).body).toEqual([
      {
        agent_id: ALICE,
        name: "alice",
        skills_summary: "The test's alice.",
        methods_count: 3,
        trust_tier: 2,
        verification_path: "org-asserted",
        trust_warning: "verification-incomplete",
        owner_id: "acme.example",
      },
      {
        agent_id: BOB,
        name: "bob",
        skills_summary: "The test's bob.",
        methods_count: 3,
        trust_tier: 3,
        verification_path: "org-asserted",
      },
    ]);
  });

  it.each([
    ["public", undefined, 2],
    ["public", ALICE, 2],
    ["authenticated", undefined, 0],
    ["authenticated", ALICE, 2],
    ["private", undefined, 0],
    ["private", ALICE, 0],
  ])("with disclosure %s shows %s %i agents", async (disclosure, agent, count) => {
    const server = await openServer(discoveryFiles({ agents: { disclosure } }));
    const reply = await discover(server, "/agents", agent);
    expect(reply.status).toBe(200);
    expect(reply.body).toHaveLength(count);
  });

  it("discloses nothing to a stranger who is merely accepted", async () => {
    const server = await openServer(
      discoveryFiles({
        agents: { disclosure: "authenticated" },
        policies: { identity: { unknown_agents: "accept" } },
      }),
    );
    expect((await discover(server, "/agents", "e".repeat(64))).body).toEqual([]);
  });
});

// AGTP-API §5.8.6
describe("DISCOVER /patterns", () => {
  it("lists the recipes that match something, with exactly one of path_exact and path_regex", async () => {
    const server = await openServer(discoveryFiles());
    expect((await discover(server, "/patterns", ALICE)).body).toEqual({
      rcns_enabled: false,
      patterns: [
        {
          recipe_name: "stay",
          recipe_version: "3",
          method: "BOOK",
          path_regex: "^/stays(/[^/]+)?$",
          description: "Book a room.",
          required_scopes: ["booking:room"],
        },
      ],
    });
  });
});

// AGTP-API §5.8.4, §5.8.5, §5.8.7
describe("the other built-ins", () => {
  it("list the APIs of the configuration, the operator's endpoints as tools, no contracts", async () => {
    const apis = [{ name: "orders", base_url: "https://orders.example" }];
    const server = await openServer(discoveryFiles({ apis }));
    expect((await discover(server, "/apis", ALICE)).body).toEqual(apis);
    const { body: tools } = await discover(server, "/tools", ALICE);
    const { body: methods } = await discover(server, "/methods", ALICE);
    const pairs = Object.values(methods).filter(({ tier }) => String(tier) === "B");
    expect(Object.values(tools).map(({ action }) => action)).toEqual(
      pairs.map(({ method, path }) => `${method} ${path}`),
    );
    expect((await discover(server, "/contracts", ALICE)).body).toEqual([]);
  });
});

// AGTP-API §5.10
describe("the body form target=", () => {
  it.each(["methods", "agents", "tools", "apis", "genesis"])(
    "equals DISCOVER /%s",
    async (name) => {
      const server = await openServer(discoveryFiles());
      const byPath = await discover(server, `/${name}`, ALICE);
      const byBody = await discover(server, "/", ALICE, { target: name });
      expect(byBody.status).toBe(byPath.status);
      expect(byBody.body).toEqual(byPath.body);
    },
  );

  it("warns every agent once, on the wire and in the log", async () => {
    const server = await openServer(discoveryFiles());
    const warnings: (string | undefined)[] = [];
    for (const agent of [ALICE, ALICE, BOB, ALICE, BOB, undefined, undefined]) {
      const { headers } = await discover(server, "/", agent, { target: "tools" });
      warnings.push(headers.get("agtp-endpoint-warning"));
    }
    const text = "deprecated; successor=DISCOVER /tools";
    expect(warnings).toEqual([
      ...[text, undefined, text],
      ...[undefined, undefined, text, undefined],
    ]);
    expect(server.warnings).toHaveLength(3);
  });

  it("works for a caller without an Agent-ID", async () => {
    const server = await openServer(discoveryFiles());
    const { body } = await discover(server, "/", undefined, { target: "tools" });
    expect(body).toEqual((await discover(server, "/tools", ALICE)).body);
    expect(body).not.toEqual([]);
  });

  it.each(["patterns", "contracts", "", "__proto__", "nothing"])("never had %j", async (target) => {
    const server = await openServer(discoveryFiles());
    expect((await discover(server, "/", ALICE, { target })).status).toBe(422);
  });

  it("may not disagree with the path", async () => {
    const server = await openServer(discoveryFiles());
    for (const name of RESERVED) {
      const agreeing = await discover(server, `/${name}`, ALICE, { target: name });
      expect(agreeing.status, name).toBe(name === "genesis" ? 404 : 200);
      const { status, body } = await discover(server, `/${name}`, ALICE, { target: "other" });
      expect(status).toBe(400);
      expect(body).toMatchObject({
        conflict: { path: `/${name}`, target: "other" },
        error: { code: "discover-target-conflict" },
      });
    }
  });
});

// AGTP-API §5.9
describe("policies.builtins", () => {
  const override = {
    ...discoveryFiles({ policies: { builtins: { tools: "handlers.tools" } } }),
    "handlers.mjs": `
      export const echo = () => ({ body: {} });
      export const tools = () => ({ body: [{ name: "hammer" }], headers: { "Server-ID": "forged" } });
    `,
  };

  it("replaces a handler, by path and by target", async () => {
    const server = await openServer(override);
    const byPath = await discover(server, "/tools", ALICE);
    expect(byPath.body).toEqual([{ name: "hammer" }]);
    expect((await discover(server, "/", ALICE, { target: "tools" })).body).toEqual(byPath.body);
  });

  it("does not let the handler write the protocol's header fields", async () => {
    const server = await openServer(override);
    const reply = await discover(server, "/tools", ALICE);
    expect(reply.headers.get("server-id")).toBe("test");
  });

  it("holds an override to the documented response", async () => {
    const server = await openServer({
      ...override,
      "handlers.mjs": `
        export const echo = () => ({ body: {} });
        export const tools = () => ({ body: { tools: [] } });
      `,
    });
    const reply = await discover(server, "/tools", ALICE);
    expect(reply.status).toBe(500);
    expect(server.faults).toHaveLength(1);
  });

  it("must lead to a function, or the server does not start", async () => {
    const files = discoveryFiles({ policies: { builtins: { tools: "handlers.missing" } } });
    await expect(openServer(files)).rejects.toThrow(/policies\.builtins\.tools/);
  });
});

// AGTP-API §5.9
describe("the reservation", () => {
  it.each([
    "/methods",
    "/methods/v2",
    "/agents-extended",
    "/toolset",
    "/contracts/history",
    "/{x}",
  ])("refuses DISCOVER %s at load", async (path) => {
    const properties = { x: { type: "string" } };
    const server = await openServer(
      {
        ...discoveryFiles(),
        "endpoints/taken.toml": endpointFile({ method: "DISCOVER", path, properties }),
      },
      { isClean: false },
    );
    expect(server.problems).toMatchObject([{ file: "endpoints/taken.toml", key: "endpoint.path" }]);
  });

  it("is of DISCOVER alone", async () => {
    const server = await openServer({
      ...discoveryFiles(),
      "endpoints/methods.toml": endpointFile({ method: "QUERY", path: "/methods" }),
      "endpoints/catalogs.toml": endpointFile({ method: "DISCOVER", path: "/menus" }),
    });
    const headers = { "Agent-ID": ALICE };
    expect((await server.send({ method: "QUERY", path: "/methods", headers })).status).toBe(200);
    expect((await discover(server, "/menus", ALICE)).status).toBe(200);
    expect((await discover(server, "/methods", ALICE)).body).toContainEqual(
      expect.objectContaining({ method: "DISCOVER", path: "/menus", tier: "B" }),
    );
  });

  it("keeps an operator's own DISCOVER endpoint from anonymous callers", async () => {
    const server = await openServer({
      "agtp-server.toml": configFile(),
      "handlers.mjs": "export const echo = () => ({ body: {} });",
      "endpoints/menus.toml": endpointFile({ method: "DISCOVER", path: "/menus" }),
    });
    expect((await discover(server, "/menus")).body).toMatchObject({ type: "credentials-missing" });
  });
});
