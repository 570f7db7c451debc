import { describe, expect, it } from "vitest";
import type { Pair } from "../../src/catalog/pair.ts";
import { createRegistry } from "../../src/endpoint/endpoint-registry.ts";

const entry = (text: string): Pair => {
  const [method = "", path = ""] = text.split(" ");
  return { method, path };
};
const registryOf = (...pairs: readonly string[]) => createRegistry(pairs.map(entry));

// AGTP-API §5.4
describe("find", () => {
  const { registry } = registryOf(
    "QUERY /",
    "BOOK /rooms",
    "BOOK /rooms/suite",
    "BOOK /rooms/{room_id}",
    "QUERY /rooms/{id}",
    "QUERY /{kind}/{id}",
    "FETCH /{kind}/suite",
    "AUDIT /{a}/{b}/{c}",
    "AUDIT /x/{b}/z",
  );
  const found = (method: string, path: string): string | undefined =>
    registry.find(method, path)?.entry.path;

  it.each([
    ["QUERY", "/", "/"],
    ["BOOK", "/rooms", "/rooms"],
    ["BOOK", "/rooms/suite", "/rooms/suite"],
    ["BOOK", "/rooms/12", "/rooms/{room_id}"],
    ["QUERY", "/rooms/12", "/rooms/{id}"],
    ["QUERY", "/guests/12", "/{kind}/{id}"],
    ["AUDIT", "/x/y/z", "/x/{b}/z"],
    ["AUDIT", "/x/y/w", "/{a}/{b}/{c}"],
  ])("resolves %s %s to %s", (method, path, template) => {
    expect(found(method, path)).toBe(template);
  });

  it("resolves a path of any script, as a manifest from elsewhere may have", () => {
    const { registry } = registryOf("BOOK /zimmer/größe", "BOOK /部屋", "AUDIT /部屋");
    for (const path of ["/zimmer/größe", "/部屋"]) {
      expect(registry.find("BOOK", path)?.entry.path).toBe(path);
      expect(registry.findLiteral("BOOK", path)?.path).toBe(path);
    }
    expect(registry.methodsFor("/部屋")).toEqual(["AUDIT", "BOOK"]);
  });

  // AGTP-API §5.4: a literal segment matches as it is written.
  it.each([
    ["BOOK", "/rooms/s%75ite"],
    ["BOOK", "/rooms/%73%75%69%74%65"],
    ["BOOK", "/r%6Foms"],
    ["AUDIT", "/%78/y/z"],
    ["AUDIT", "/x/y/%7a"],
  ])("takes no segment for a value that is another endpoint's own: %s %s", (method, path) => {
    expect(found(method, path)).toBeUndefined();
    expect(registry.methodsFor(path)).not.toContain(method);
  });

  it.each([
    ["QUERY", "/rooms/s%75ite", "s%75ite"],
    ["BOOK", "/rooms/suite%20", "suite%20"],
    ["BOOK", "/rooms/%2573uite", "%2573uite"],
    ["BOOK", "/rooms/%31%32", "%31%32"],
  ])("gives the value of %s %s as it is written", (method, path, value) => {
    expect(Object.values(registry.find(method, path)?.values ?? {})).toEqual([value]);
  });

  it("tells a literal path from one that a template matches", () => {
    expect(registry.findLiteral("BOOK", "/rooms/suite")?.path).toBe("/rooms/suite");
    expect(registry.findLiteral("BOOK", "/rooms/12")).toBeUndefined();
    expect(registry.findLiteral("BOOK", "/rooms/{room_id}")).toBeUndefined();
    expect(registry.findLiteral("AUDIT", "/rooms/suite")).toBeUndefined();
  });

  it("does not let a method hide a less specific template of another one", () => {
    expect(found("FETCH", "/rooms/suite")).toBe("/{kind}/suite");
    expect(found("QUERY", "/rooms/suite")).toBe("/rooms/{id}");
  });

  it.each([
    ["BOOK", "/rooms/"],
    ["BOOK", "/Rooms"],
    ["BOOK", "/rooms/1/2"],
    ["BOOK", "rooms"],
    ["QUERY", "/rooms//"],
    ["AUDIT", "/x//z"],
    ["NOPE", "/rooms"],
    ["BOOK", ""],
    ["BOOK", `/${"/".repeat(8000)}`],
  ])("finds nothing for %s %s", (method, path) => {
    expect(registry.find(method, path)).toBeUndefined();
  });

  it("gives raw values by parameter name, and none for a literal path", () => {
    expect(registry.find("AUDIT", "/a/b%2Fc/d")?.values).toEqual({ a: "a", b: "b%2Fc", c: "d" });
    expect(registry.find("BOOK", "/rooms")?.values).toBeUndefined();
  });

  it("keeps a parameter named __proto__ from being anything but a member", () => {
    const match = registryOf("BOOK /a/{__proto__}").registry.find("BOOK", "/a/x");
    expect(Object.entries(match?.values ?? {})).toEqual([["__proto__", "x"]]);
  });
});

describe("methodsFor", () => {
  const { registry } = registryOf("BOOK /rooms/{id}", "AUDIT /{a}/{b}", "CANCEL /rooms/7");
  it("lists every method of a path, sorted", () => {
    expect(registry.methodsFor("/rooms/7")).toEqual(["AUDIT", "BOOK", "CANCEL"]);
    expect(registry.methodsFor("/rooms/8")).toEqual(["AUDIT", "BOOK"]);
    expect(registry.methodsFor("/guests/8")).toEqual(["AUDIT"]);
  });
  it("gives the same list each time, for paths of a template too", () => {
    expect(registry.methodsFor("/guests/8")).toBe(registry.methodsFor("/guests/9"));
  });
  it("lists nothing for an unknown path", () => {
    expect(registry.methodsFor("/rooms")).toEqual([]);
    expect(registry.methodsFor("")).toEqual([]);
  });
});

describe("conflicts", () => {
  it.each([
    ["the same literal", "BOOK /a", "BOOK /a"],
    ["the same template", "BOOK /a/{x}", "BOOK /a/{x}"],
    ["templates that differ in a name", "BOOK /a/{x}", "BOOK /a/{y}"],
    ["templates that are equally specific", "BOOK /a/{x}/c", "BOOK /a/b/{y}"],
    ["templates that share no literal", "BOOK /a/{x}", "BOOK /{y}/b"],
  ])("are reported for %s", (_, first, second) => {
    const { registry, conflicts } = registryOf(first, second);
    expect(registry.entries).toEqual([entry(first)]);
    expect(conflicts).toMatchObject([{ entry: entry(second), other: entry(first) }]);
    expect(conflicts[0]?.message).toContain(second);
    expect(registryOf(second, first).conflicts).toHaveLength(1);
  });

  it.each([
    ["other methods", "BOOK /a/{x}", "AUDIT /a/{y}"],
    ["other lengths", "BOOK /a/{x}", "BOOK /a/{x}/{y}"],
    ["other literals", "BOOK /a/{x}/c", "BOOK /b/{x}/c"],
    ["another number of parameters", "BOOK /a/{x}", "BOOK /{x}/{y}"],
    ["templates no path can match both", "BOOK /a/{x}/c", "BOOK /a/b/{y}/"],
    ["a literal beside a template", "BOOK /a/b", "BOOK /a/{x}"],
  ])("are not reported for %s", (_, first, second) => {
    expect(registryOf(first, second).conflicts).toEqual([]);
  });

  it("are found among ten thousand templates without comparing each with each", () => {
    const pairs = Array.from({ length: 5000 }, (_, index) => [
      `BOOK /a${index}/{x}/c`,
      `BOOK /a${index}/b/{y}`,
    ]).flat();
    const { registry, conflicts } = registryOf(...pairs);
    expect(conflicts).toHaveLength(5000);
    expect(registry.entries).toHaveLength(5000);
  });
});
