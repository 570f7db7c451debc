import { describe, expect, it } from "vitest";
import { formatProblem } from "../../src/base/problem.ts";
import type { EndpointDefinition } from "../../src/endpoint/endpoint.ts";
import type { Recipe, RecipeStep } from "../../src/endpoint/recipe.ts";
import { type BindOptions, type BoundHandlers, bindHandlers } from "../../src/handlers/bind.ts";
import type { ModuleLoader } from "../../src/handlers/module-loader.ts";
import { createUpstreamPools } from "../../src/handlers/upstream-pools.ts";
import { makeEndpoint, makeRecipe, makeUpstreamBinding } from "../support/endpoint-definition.ts";

/** Loads every reference but those that begin with "missing". */
const loader: ModuleLoader = {
  async load(reference, place) {
    return reference.startsWith("missing")
      ? { problems: [{ ...place, message: `module "${reference}" does not exist` }] }
      : { handler: () => ({ body: reference }), problems: [] };
  },
};

function endpoint(pair: string, rest: Partial<EndpointDefinition> = {}): EndpointDefinition {
  const [method = "", path = ""] = pair.split(" ");
  const file = `endpoints/${method.toLowerCase()}.toml`;
  const handler = { type: "registered_function", function: "a.b" } as const;
  return { ...makeEndpoint(handler), file, method, path, ...rest };
}

function composition(
  pair: string,
  recipe: string,
  rest: Partial<EndpointDefinition> = {},
): EndpointDefinition {
  return endpoint(pair, { ...rest, handler: { type: "composition", recipe } });
}

/** A recipe of steps given as pairs. */
function recipe(name: string, ...pairs: string[]): Recipe {
  const steps = pairs.map((pair) => {
    const [method = "", path = "/"] = pair.split(" ");
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter = ""]) => parameter);
    const sources = names.map((parameter) => [parameter, { kind: "proposal", value: parameter }]);
    return { method, path, parameters: Object.fromEntries(sources) };
  });
  return makeRecipe(steps, { name });
}

async function bind(
  endpoints: readonly EndpointDefinition[],
  recipes: readonly Recipe[] = [],
  rest: Partial<BindOptions> = {},
): Promise<BoundHandlers> {
  const pools = createUpstreamPools();
  const bound = await bindHandlers({
    endpoints,
    recipes: new Map(recipes.map((each) => [each.name, each])),
    loader,
    pools,
    covers: (granted, required) => granted.includes(required) || granted.includes("*"),
    floor: (method, path) => path === "/" && ["QUERY", "DISCOVER"].includes(method),
    ...rest,
  });
  await pools.close();
  return bound;
}

function messages({ problems }: BoundHandlers): string[] {
  return problems.map(formatProblem);
}

// AGTP-API §12
describe("bindHandlers", () => {
  it("binds the three kinds of handlers", async () => {
    const endpoints = [
      endpoint("QUERY /facts"),
      composition("AUDIT /reviews", "r"),
      endpoint("BOOK /room", { handler: makeUpstreamBinding({ url: "https://h.example/" }) }),
    ];
    const result = await bind(endpoints, [recipe("r", "QUERY /facts", "QUERY /")]);
    expect(result.problems).toEqual([]);
    expect([...result.bound.keys()]).toEqual(endpoints);
  });

  it("leaves an endpoint with a problem unbound, and binds the others", async () => {
    const bad = endpoint("BOOK /a", {
      handler: { type: "registered_function", function: "missing.f" },
    });
    const good = endpoint("QUERY /b");
    const result = await bind([bad, good]);
    expect([...result.bound.keys()]).toEqual([good]);
    expect(messages(result)).toEqual([
      'endpoints/book.toml: endpoint.handler.function: module "missing.f" does not exist',
    ]);
  });

  it("names a recipe that does not exist, and its close matches", async () => {
    const result = await bind(
      [composition("AUDIT /a", "audit-al")],
      [recipe("audit-all", "QUERY /")],
    );
    expect(result.bound.size).toBe(0);
    expect(messages(result)).toEqual([
      'endpoints/audit.toml: endpoint.handler.recipe: no recipe "audit-al" is registered ' +
        "(did you mean audit-all?)",
    ]);
  });

  it("refuses the compositions that need an unbound endpoint, and those that need these", async () => {
    const endpoints = [
      composition("PLAN /top", "top"),
      composition("AUDIT /middle", "middle"),
      endpoint("QUERY /leaf", { handler: { type: "registered_function", function: "missing.f" } }),
      composition("RANK /unrelated", "floor"),
    ];
    const recipes = [
      recipe("top", "QUERY /", "AUDIT /middle"),
      recipe("middle", "QUERY /leaf"),
      recipe("floor", "QUERY /"),
    ];
    const result = await bind(endpoints, recipes);
    expect([...result.bound.keys()]).toEqual([endpoints[3]]);
    expect(messages(result).sort()).toEqual([
      "endpoints/audit.toml: endpoint.handler.recipe: step 1 (QUERY /leaf) of recipe " +
        '"middle" needs an endpoint that could not be loaded',
      "endpoints/plan.toml: endpoint.handler.recipe: step 2 (AUDIT /middle) of recipe " +
        '"top" needs an endpoint that could not be loaded',
      'endpoints/query.toml: endpoint.handler.function: module "missing.f" does not exist',
    ]);
  });

  it("binds a parameterised step while one endpoint it may reach is bound", async () => {
    const lost = { handler: { type: "registered_function", function: "missing.f" } } as const;
    const endpoints = [
      endpoint("QUERY /a/x"),
      endpoint("QUERY /a/y", lost),
      composition("AUDIT /z", "r"),
    ];
    const result = await bind(endpoints, [recipe("r", "QUERY /a/{p}")]);
    expect(result.bound.size).toBe(2);
  });
});

// AGTP-API §12.1
describe("a step that the endpoint it reaches always refuses", () => {
  const item = { type: "string", pattern: "^[a-z]+$" };
  const stock: EndpointDefinition["inputSchema"] = {
    type: "object",
    required: ["item_id", "shop"],
    additionalProperties: false,
    properties: {
      item_id: item,
      shop: { $ref: "#/$defs/shop" },
      days: { type: "integer", maximum: 9 },
    },
    $defs: { shop: { enum: ["north", "south"] } },
  };
  const target = endpoint("QUERY /stock/{item_id}", { inputSchema: stock });
  const input: EndpointDefinition["inputSchema"] = {
    type: "object",
    additionalProperties: false,
    properties: { item: { type: "string" } },
  };
  const right = {
    item_id: { kind: "proposal", value: "item" },
    shop: { kind: "constant", value: "north" },
  } as const;

  async function tell(parameters: RecipeStep["parameters"], path = "/stock/{item_id}") {
    const made = makeRecipe([{ method: "QUERY", path, parameters }], { name: "r" });
    const result = await bind(
      [target, composition("AUDIT /a", "r", { inputSchema: input })],
      [made],
    );
    expect(result.bound.size).toBe(2);
    return result.problems.map((problem) => {
      expect(problem).toMatchObject({
        ...{ file: "endpoints/audit.toml", key: "endpoint.handler.recipe", severity: "warning" },
        hint: "calls of it end with composition_failed",
      });
      return problem.message.split('of recipe "r" ')[1];
    });
  }

  it.each([
    ["is right", right, []],
    [
      "takes a path from a field that nobody has",
      { ...right, item_id: { kind: "proposal", value: "itme" } },
      ['takes "item_id" from "itme", which input_schema does not have'],
    ],
    [
      "takes a required field from one that nobody has",
      { ...right, shop: { kind: "proposal", value: "shop" } },
      ['takes "shop" from "shop", which input_schema does not have'],
    ],
    [
      "takes an optional field from one that nobody has",
      { ...right, days: { kind: "proposal", value: "days" } },
      [],
    ],
    [
      "leaves out a required field",
      { item_id: right.item_id },
      ['does not give "shop", which QUERY /stock/{item_id} requires'],
    ],
    [
      "gives a field that is none",
      { ...right, colour: { kind: "proposal", value: "item" } },
      ['gives "colour", which QUERY /stock/{item_id} does not have in its input_schema'],
    ],
    [
      "gives a text where a number is meant",
      { ...right, days: { kind: "constant", value: "3" } },
      ['gives a constant "days" that must be integer'],
    ],
    [
      "gives a constant that is none of the few",
      { ...right, shop: { kind: "constant", value: "west" } },
      ['gives a constant "shop" that must be one of "north", "south"'],
    ],
    [
      "has a constant in its path that does not match",
      { ...right, item_id: { kind: "constant", value: 7 } },
      ['gives a constant "item_id" that must match pattern "^[a-z]+$"'],
    ],
    [
      "has a constant in its path that none can hold",
      { ...right, item_id: { kind: "constant", value: [] } },
      ['gives a constant "item_id" that cannot stand in a path'],
    ],
  ] as const)("is told: it %s", async (_, parameters, told) => {
    expect(await tell(parameters as RecipeStep["parameters"])).toEqual(told);
  });

  it("has its path's values from a path without parameters, too", async () => {
    expect(await tell({ shop: right.shop }, "/stock/tea")).toEqual([]);
  });

  it("is told of a recipe that is there to be proposed, where it reaches nothing", async () => {
    const pattern = { methodExact: "AUDIT", hasParameters: [] };
    const proposed = { ...recipe("p", "QUERY /", "QUERY /stok/{id}"), pattern };
    const result = await bind([target], [proposed, recipe("other", "QUERY /stok")]);
    expect(result.problems).toEqual([
      {
        ...{ file: "recipes/x.toml", key: "recipe.steps", severity: "warning" },
        message:
          'step 2 (QUERY /stok/{id}) of recipe "p" reaches no registered endpoint, floor method or built-in',
        hint: "no contract can be made of it",
      },
    ]);
  });
});

describe("a result that has one form whoever answers", () => {
  const UPSTREAM = { url: "https://h.example/" };
  const written = { headerFields: {}, styles: {} };
  const text = { ...UPSTREAM, encoding: { ...written, responseFormat: "text" } } as const;
  const binary = { ...UPSTREAM, encoding: { ...written, responseFormat: "binary" } } as const;
  const lines = { ...UPSTREAM, encoding: { ...written, responseFormat: "json_lines" } } as const;
  const head = { ...UPSTREAM, method: "HEAD" } as const;
  const fits = { type: "object", required: ["text"], properties: { text: { type: "string" } } };

  it.each([
    [text, { required: ["rate"] }, 'response_format = "text" does not give "rate", which output_'],
    [text, { type: "string" }, 'response_format = "text" gives object, and output_schema wants st'],
    [text, { ...fits, additionalProperties: false }, 'gives "media_type", which output_schema doe'],
    [binary, fits, 'response_format = "binary" does not give "text", which output_schema requires'],
    [lines, fits, 'response_format = "json_lines" gives array, and output_schema wants object'],
    [head, { required: ["etag"] }, 'HEAD does not give "etag", which output_schema requires'],
  ])("is told where no call could fit the schema, of %j", async (binding, outputSchema, told) => {
    const handler = makeUpstreamBinding(binding);
    const result = await bind([endpoint("QUERY /a", { handler, outputSchema })]);
    expect(result.bound.size).toBe(0);
    expect(messages(result)).toEqual([
      expect.stringMatching(/^endpoints\/query\.toml: endpoint\.output_schema: /),
    ]);
    expect(messages(result)[0]).toContain(told);
  });

  it.each([
    [text, fits],
    [text, { additionalProperties: false, patternProperties: { "^[mt]": true } }],
    [binary, { required: ["base64", "media_type"] }],
    [head, { type: "object", maxProperties: 0 }],
    [{ ...text, method: "GET" } as const, { anyOf: [fits, { maxProperties: 0 }] }],
  ])("is served where it fits, of %j", async (binding, outputSchema) => {
    const handler = makeUpstreamBinding(binding);
    const result = await bind([endpoint("QUERY /a", { handler, outputSchema })]);
    expect(messages(result)).toEqual([]);
  });

  it("is the list of a composition that lists", async () => {
    const listing = { ...recipe("r", "QUERY /"), aggregation: "list" } as const;
    const of = (outputSchema: EndpointDefinition["outputSchema"]) =>
      bind([composition("AUDIT /a", "r", { outputSchema })], [listing]);
    expect(messages(await of({ required: ["left"] }))).toEqual([
      'endpoints/audit.toml: endpoint.output_schema: mode = "list" of recipe "r" does not give "left", which output_schema requires',
    ]);
    expect(messages(await of({ required: ["results"], properties: { results: {} } }))).toEqual([]);
  });
});

// AGTP-API §12.1: "Authority sufficiency is verified at registration time when possible"
describe("bindHandlers, for the steps of compositions", () => {
  const facts = endpoint("QUERY /facts/{id}", { requiredScopes: ["facts:read", "facts:all"] });
  const place = "endpoints/audit.toml: endpoint.handler.recipe: step 1";

  it.each(["/fact", "/facts", "/facts/1/2", "/facts/", "/{a}/{b}/{c}"])(
    "refuses a step that reaches nothing at %s",
    async (path) => {
      const audit = composition("AUDIT /a", "r", { requiredScopes: ["*"] });
      const result = await bind([facts, audit], [recipe("r", `QUERY ${path}`)]);
      expect(messages(result)).toEqual([
        `${place} (QUERY ${path}) of recipe "r" reaches no registered endpoint, floor method ` +
          "or built-in",
      ]);
    },
  );

  it("lists the scopes a static step needs and the endpoint does not ask for", async () => {
    const audit = composition("AUDIT /a", "r", { requiredScopes: ["facts:all"] });
    const result = await bind([facts, audit], [recipe("r", "QUERY /facts/7")]);
    expect(messages(result)).toEqual([
      `${place} (QUERY /facts/7) of recipe "r" needs facts:read, which required_scopes must cover`,
    ]);
    const covered = composition("AUDIT /a", "r", { requiredScopes: ["*"] });
    expect((await bind([facts, covered], [recipe("r", "QUERY /facts/7")])).problems).toEqual([]);
  });

  it("leaves the authority of a parameterised step to the call", async () => {
    const result = await bind(
      [facts, composition("AUDIT /a", "r")],
      [recipe("r", "QUERY /facts/{subject}")],
    );
    expect(result.problems).toEqual([]);
  });

  it("judges a static step by the most specific endpoint", async () => {
    const special = endpoint("QUERY /facts/special");
    const result = await bind(
      [facts, special, composition("AUDIT /a", "r")],
      [recipe("r", "QUERY /facts/special")],
    );
    expect(result.problems).toEqual([]);
  });

  it("follows the server's aliases and redirects", async () => {
    const result = await bind(
      [endpoint("FETCH /new"), composition("AUDIT /a", "r")],
      [recipe("r", "GET /old")],
      {
        canonical: ({ method }) => ({ method: method === "GET" ? "FETCH" : method, path: "/new" }),
      },
    );
    expect(result.problems).toEqual([]);
  });

  it("prints the chain of a composition that reaches itself", async () => {
    const endpoints = [
      composition("AUDIT /a", "one"),
      composition("PLAN /b/{id}", "two"),
      composition("RANK /c", "three"),
      composition("QUERY /self", "self"),
      endpoint("FETCH /leaf"),
    ];
    const recipes = [
      recipe("one", "QUERY /", "PLAN /b/{x}"),
      recipe("two", "RANK /c"),
      recipe("three", "FETCH /leaf", "AUDIT /a"),
      recipe("self", "QUERY /self"),
    ];
    const result = await bind(endpoints, recipes);
    expect(result.bound.size).toBe(1);
    expect(messages(result)).toEqual([
      "endpoints/audit.toml: endpoint.handler.recipe: the composition reaches itself: " +
        "AUDIT /a -> PLAN /b/{id} -> RANK /c -> AUDIT /a",
      "endpoints/plan.toml: endpoint.handler.recipe: the composition reaches itself: " +
        "PLAN /b/{id} -> RANK /c -> AUDIT /a -> PLAN /b/{id}",
      "endpoints/rank.toml: endpoint.handler.recipe: the composition reaches itself: " +
        "RANK /c -> AUDIT /a -> PLAN /b/{id} -> RANK /c",
      "endpoints/query.toml: endpoint.handler.recipe: the composition reaches itself: " +
        "QUERY /self -> QUERY /self",
    ]);
  });

  it("lets two steps of one recipe share an endpoint", async () => {
    const endpoints = [
      endpoint("QUERY /leaf"),
      composition("AUDIT /a", "one"),
      composition("PLAN /b", "two"),
    ];
    const recipes = [
      recipe("one", "QUERY /leaf", "QUERY /leaf", "PLAN /b", "PLAN /b"),
      recipe("two", "QUERY /leaf"),
    ];
    expect((await bind(endpoints, recipes)).problems).toEqual([]);
  });
});

// AGTP-API §12.3
describe("bindHandlers, for external services", () => {
  it("refuses a URL that cannot be taken apart, and does not quote it", async () => {
    const handler = makeUpstreamBinding({ url: "https://h.example/s3cret/../x" });
    const result = await bind([endpoint("BOOK /a", { handler })]);
    expect(result.bound.size).toBe(0);
    expect(messages(result)).toEqual([
      'endpoints/book.toml: endpoint.handler.url: must have no "." or ".." segment',
    ]);
  });

  it("checks URL values before the handler", async () => {
    const handler = makeUpstreamBinding({ url: "https://h.example/{id}" });
    const book = endpoint("BOOK /a", { handler });
    const { bound, problems } = await bind([book]);
    expect(problems).toEqual([]);
    const precheck = bound.get(book)?.precheck;
    expect(precheck?.({ id: "x" })).toBeUndefined();
    expect(precheck?.({ id: ".." })).toMatchObject([{ path: "/id", keyword: "not" }]);
  });
});
