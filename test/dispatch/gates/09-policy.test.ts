import { describe, expect, it } from "vitest";
import { policyGate } from "../../../src/dispatch/gates/09-policy.ts";
import type { Gate } from "../../../src/dispatch/gates/gate.ts";
import type { MethodPolicyConfig } from "../../../src/dispatch/policy/policies-section.ts";
import { refusalBody, refusalText } from "../../../src/dispatch/refusals/refusal.ts";
import { createRegistry } from "../../../src/endpoint/endpoint-registry.ts";
import { makeExchange, makeRoute } from "../../support/exchange.ts";
import { makePolicy } from "../../support/policy.ts";
import { smallCatalog } from "../../support/vocabulary.ts";

const ROUTES = [
  makeRoute(),
  makeRoute({ method: "CANCEL" }),
  makeRoute({ method: "RESERVE", path: "/suites/{suite}" }),
];

function makeGate(config: Partial<MethodPolicyConfig>): Gate {
  const { registry } = createRegistry(ROUTES);
  return policyGate(makePolicy(config), registry);
}

// AGTP-API §9.2
describe("policyGate", () => {
  it("passes what is allowed, and changes nothing", () => {
    const exchange = makeExchange();
    expect(makeGate({})(exchange)).toBeUndefined();
    expect(exchange).toMatchObject({ method: "BOOK", path: "/room" });
  });

  it("answers 405 for a disallowed method, with what the path does allow", () => {
    const refusal = makeGate({ disallow: ["BOOK"] })(makeExchange());
    expect(refusal).toMatchObject({
      status: 405,
      code: "method-not-allowed",
      carried: { allowed_methods_for_path: ["CANCEL"], redirects_for_path: {} },
    });
  });

  it("names the method that was asked for, whatever was asked for before", () => {
    const gate = makeGate({ disallow: ["AUDIT", "QUERY"] });
    for (const method of ["QUERY", "AUDIT", "AUDIT", "AUDIT", "QUERY"]) {
      for (const [path, allowed] of [
        ["/room", ["BOOK", "CANCEL"]],
        ["/suites/7", ["RESERVE"]],
      ] as const) {
        const refusal = gate(makeExchange({ method, path }));
        const message = `method "${method}" is not exposed on this path`;
        expect(refusal).toMatchObject({ message, carried: { allowed_methods_for_path: allowed } });
        expect(refusal && JSON.parse(refusalText(refusal))).toEqual(
          refusal && refusalBody(refusal),
        );
      }
    }
  });

  it("answers 405 for what is not on the allow list; floor methods always are", () => {
    const gate = makeGate({ allow: ["BOOK"] });
    expect(gate(makeExchange({ method: "CANCEL" }))).toMatchObject({
      status: 405,
      carried: { allowed_methods_for_path: ["BOOK"] },
    });
    expect(gate(makeExchange({ method: "QUERY" }))).toBeUndefined();
  });

  it("refuses even a floor method that is disallowed by name", () => {
    expect(makeGate({ disallow: ["QUERY"] })(makeExchange({ method: "QUERY" }))?.status).toBe(405);
  });

  it("lists nothing for a path that nobody knows", () => {
    const refusal = makeGate({ disallow: ["BOOK"] })(makeExchange({ path: "/nowhere" }));
    expect(refusal?.carried).toEqual({ allowed_methods_for_path: [], redirects_for_path: {} });
  });

  it("processes a redirected request as its target", () => {
    const redirects = [
      {
        fromMethod: "BOOK",
        fromPath: "/suite/{suite}",
        toMethod: "RESERVE",
        toPath: "/suites/{suite}",
      },
    ];
    const exchange = makeExchange({ path: "/suite/7" });
    expect(makeGate({ redirects })(exchange)).toBeUndefined();
    expect(exchange).toMatchObject({
      method: "RESERVE",
      path: "/suites/7",
      requestedMethod: "BOOK",
    });
  });

  it("judges a method before it redirects it, and tells where to go", () => {
    const redirects = [{ fromMethod: "BOOK", toMethod: "RESERVE" }];
    const exchange = makeExchange();
    const refusal = makeGate({ redirects, disallow: ["BOOK"] })(exchange);
    expect(refusal?.carried).toMatchObject({ redirects_for_path: { BOOK: "RESERVE" } });
    expect(exchange.method).toBe("BOOK");
  });

  it("judges the target of a redirect too, and says of the path that was asked for what it has", () => {
    const redirects = [
      { fromMethod: "BOOK", fromPath: "/suite", toMethod: "RESERVE", toPath: "/room" },
    ];
    const gate = makeGate({ redirects, disallow: ["RESERVE"] });
    expect(gate(makeExchange({ path: "/suite" }))).toMatchObject({
      status: 405,
      carried: { allowed_methods_for_path: [], redirects_for_path: { BOOK: "RESERVE" } },
    });
  });

  it("redirects once: the target is not redirected again", () => {
    const redirects = [
      { fromMethod: "BOOK", toMethod: "RESERVE" },
      { fromMethod: "RESERVE", toMethod: "CANCEL" },
    ];
    const exchange = makeExchange();
    makeGate({ redirects })(exchange);
    expect(exchange.method).toBe("RESERVE");
  });

  // AGTP-API §4.4, §9.2
  it("warns of a deprecated target as if it had been requested", () => {
    const catalog = smallCatalog();
    const reserve = {
      name: "RESERVE",
      categories: [],
      description: "Reserves.",
      deprecatedIn: "1.0.0",
    };
    const verbs = new Map([...catalog.verbs, ["RESERVE", reserve]]);
    const redirects = [{ fromMethod: "BOOK", toMethod: "RESERVE" }];
    const policy = makePolicy({ redirects }, { ...catalog, verbs });
    const exchange = makeExchange();
    policyGate(policy, createRegistry(ROUTES).registry)(exchange);
    expect(exchange.catalogWarning).toBe("deprecated");
  });
});
