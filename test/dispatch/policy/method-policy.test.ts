import { describe, expect, it, vi } from "vitest";
import { given } from "../../../src/base/json-value.ts";
import { formatProblem, isError } from "../../../src/base/problem.ts";
import { compilePolicy, makePolicy } from "../../support/policy.ts";

// AGTP-API §9.2
describe("compileMethodPolicy", () => {
  it("admits the whole catalog and the custom methods unless told otherwise", () => {
    const policy = makePolicy();
    for (const method of ["BOOK", "QUERY", "FROBNICATE"]) {
      expect(policy.isKnown(method)).toBe(true);
      expect(policy.isAllowed(method)).toBe(true);
    }
    expect(policy.isKnown("GET")).toBe(false);
  });

  it.each([
    ["a chain", { GET: "POST", POST: "CREATE" }],
    ["a cycle", { GET: "POST", POST: "GET" }],
    ["a name for itself", { BOOK: "BOOK" }],
    ["a target that is no method", { GET: "FETCHED" }],
    ["a legacy verb as the target", { READ: "GET" }],
    ["a floor method", { QUERY: "BOOK" }],
  ])("refuses aliases with %s", (_, aliases) => {
    const { problems } = compilePolicy({ aliases });
    expect(problems.filter(isError)).not.toEqual([]);
    expect(problems[0]?.key).toMatch(/^policies\.methods\.aliases\./);
  });

  it("finds what an unknown method may be meant for, and reads all names for the first alone", () => {
    const { closeMatches } = makePolicy();
    closeMatches("ELSE");
    const fold = vi.spyOn(String.prototype, "toLowerCase");
    const found = closeMatches("FROBNICAT");
    const folded = fold.mock.calls.length;
    fold.mockRestore();
    expect(found).toEqual(["FROBNICATE"]);
    expect(folded).toBe(1);
  });

  it("accepts an alias for a custom method, and one of any spelling", () => {
    const policy = makePolicy({ aliases: { frob: "FROBNICATE" } });
    expect(policy.alias("frob")?.method).toBe("FROBNICATE");
    expect(policy.alias("GET")).toBeUndefined();
  });

  // AGTP-API §9.4
  it.each([
    ["allow", { allow: ["BOOK", "ZAP"] }, "policies.methods.allow[1]"],
    ["disallow", { disallow: ["ZAP"] }, "policies.methods.disallow[0]"],
    [
      "redirects",
      { redirects: [{ fromMethod: "ZAP", toMethod: "BOOK" }] },
      "policies.methods.redirects[0]",
    ],
    [
      "a redirect's target",
      { redirects: [{ fromMethod: "BOOK", toMethod: "ZAP" }] },
      "policies.methods.redirects[0]",
    ],
  ])("skips a removed method in %s, with a warning", (_, config, key) => {
    const { policy, problems } = compilePolicy(config);
    expect(problems).toEqual([
      { file: "agtp-server.toml", key, message: expect.any(String), severity: "warning" },
    ]);
    expect(policy.isAllowed("BOOK")).toBe(true);
    expect(policy.redirect("BOOK", "/room")).toBeUndefined();
    expect(JSON.stringify(policy.projection)).not.toContain("ZAP");
  });

  // AGTP-API §9.2
  it("warns of a disallowed name that is an alias, and never judged", () => {
    const { policy, problems } = compilePolicy({
      aliases: { CANCEL: "BOOK" },
      disallow: ["RESERVE", "CANCEL"],
    });
    expect(problems.map(formatProblem)).toEqual([
      'agtp-server.toml: policies.methods.disallow: "CANCEL" has no effect: it is an alias, and judged as "BOOK"',
    ]);
    expect(problems).toMatchObject([{ severity: "warning" }]);
    expect(policy.alias("CANCEL")?.method).toBe("BOOK");
  });

  it("publishes the policy as it applies", () => {
    const redirects = [{ fromMethod: "BOOK", fromPath: "/room", toMethod: "RESERVE" }];
    const { projection } = makePolicy({ redirects, disallow: ["CANCEL"], legacy: ["GET"] });
    expect(projection).toEqual({
      allow: "*",
      disallow: ["CANCEL"],
      legacy: ["GET"],
      aliases: { GET: "FETCH", POST: "CREATE" },
      redirects: [{ from_method: "BOOK", from_path: "/room", to_method: "RESERVE" }],
    });
  });

  it("prefers a redirect with a path over one without", () => {
    const policy = makePolicy({
      redirects: [
        { fromMethod: "BOOK", toMethod: "CANCEL" },
        { fromMethod: "BOOK", fromPath: "/room", toMethod: "RESERVE" },
      ],
    });
    expect(policy.redirect("BOOK", "/room")).toEqual({ method: "RESERVE", path: "/room" });
    expect(policy.redirect("BOOK", "/else")).toEqual({ method: "CANCEL", path: "/else" });
  });

  it("names every redirect that applies to a path", () => {
    const policy = makePolicy({
      redirects: [
        { fromMethod: "BOOK", fromPath: "/room", toMethod: "RESERVE" },
        { fromMethod: "AUDIT", toMethod: "QUERY" },
      ],
    });
    expect(policy.redirectsFor("/room")).toEqual({ BOOK: "RESERVE", AUDIT: "QUERY" });
    expect(policy.redirectsFor("/else")).toEqual({ AUDIT: "QUERY" });
  });

  it("names for a path the redirect that would be taken, when several apply", () => {
    const policy = makePolicy({
      redirects: [
        { fromMethod: "BOOK", toMethod: "CANCEL" },
        { fromMethod: "BOOK", fromPath: "/room", toMethod: "RESERVE" },
      ],
    });
    expect(policy.redirectsFor("/room")).toEqual({ BOOK: "RESERVE" });
  });

  it("warns of a redirect whose requests are all taken by another", () => {
    const book = (fromPath?: string) => ({
      fromMethod: "BOOK",
      toMethod: "RESERVE",
      ...given({ fromPath }),
    });
    const redirects = [
      ...[book(), book("/room"), book("/rooms/{id}"), book("/rooms/7"), book("/rooms/{room}")],
      ...[book("/room"), { fromMethod: "BOOK", toMethod: "CANCEL" }, book("/rooms/{id}/beds")],
      ...[
        { fromMethod: "AUDIT", toMethod: "QUERY" },
        { ...book("/a"), toMethod: "ZAP" },
      ],
    ];
    const { policy, problems } = compilePolicy({ redirects });
    expect(problems.filter(({ message }) => message.startsWith("is never reached"))).toEqual(
      [
        [3, 2],
        [4, 2],
        [5, 1],
        [6, 0],
      ].map(([never, first]) => ({
        ...{ file: "agtp-server.toml", key: `policies.methods.redirects[${never}]` },
        message: `is never reached: redirects[${first}] applies to the same requests first`,
        severity: "warning",
      })),
    );
    expect(policy.redirect("BOOK", "/elsewhere")?.method).toBe("RESERVE");
  });

  it("refuses a target path that needs a parameter nobody gives", () => {
    const redirects = [
      { fromMethod: "BOOK", fromPath: "/room", toMethod: "RESERVE", toPath: "/rooms/{room_id}" },
    ];
    expect(compilePolicy({ redirects }).problems.filter(isError)).toHaveLength(1);
  });

  it("names which path of a redirect is at fault", () => {
    const book = { fromMethod: "BOOK", toMethod: "RESERVE" };
    const redirects = [
      { ...book, fromPath: "/a/book", toPath: "/a/book" },
      { ...book, fromPath: "/a", toPath: "/b/{room}" },
      { ...book, fromPath: "/a/" },
    ];
    expect(compilePolicy({ redirects }).problems.map(({ key }) => key)).toEqual([
      "policies.methods.redirects[0].from_path",
      "policies.methods.redirects[0].to_path",
      "policies.methods.redirects[1].to_path",
      "policies.methods.redirects[2].from_path",
    ]);
  });
});
