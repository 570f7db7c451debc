import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Pair } from "../../src/catalog/pair.ts";
import { createRegistry } from "../../src/endpoint/endpoint-registry.ts";

const literal = fc.constantFrom("a", "b", "c");
const parameter = fc.constantFrom("{x}", "{y}", "{z}");
const template = fc
  .array(fc.oneof(literal, parameter), { minLength: 1, maxLength: 4 })
  .map(
    (segments) =>
      `/${segments.map((text, index) => (text[0] === "{" ? `{p${index}${text[1]}}` : text)).join("/")}`,
  );
const entries = fc.array(fc.record({ method: fc.constantFrom("BOOK", "AUDIT"), path: template }), {
  maxLength: 25,
});
const request = fc
  .array(fc.constantFrom("a", "b", "c", "d", "%61", ""), { minLength: 1, maxLength: 5 })
  .map((segments) => `/${segments.join("/")}`);

const isParameter = (segment: string): boolean => segment.startsWith("{");
const parametersOf = (path: string): number => path.split("/").filter(isParameter).length;

/** What §5.4 says, word by word. */
function matches(pattern: string, path: string): boolean {
  const ours = pattern.split("/");
  const theirs = path.split("/");
  return (
    ours.length === theirs.length &&
    ours.every((text, index) => (isParameter(text) ? theirs[index] !== "" : text === theirs[index]))
  );
}

/** The entry of a method that claims a path with the fewest parameters. */
function bestOf(entries: readonly Pair[], method: string, path: string): Pair | undefined {
  return entries
    .filter((entry) => entry.method === method && matches(entry.path, path))
    .sort((a, b) => parametersOf(a.path) - parametersOf(b.path))[0];
}

/** Whether some path is matched by both, equally well. */
function rivals(a: Pair, b: Pair): boolean {
  const [ours, theirs] = [a.path.split("/"), b.path.split("/")];
  return (
    a.method === b.method &&
    ours.length === theirs.length &&
    parametersOf(a.path) === parametersOf(b.path) &&
    ours.every((text, index) => {
      const other = theirs[index] ?? "";
      return text === other || isParameter(text) || isParameter(other);
    })
  );
}

describe("the registry", () => {
  it("finds what comparing with every template finds, and is not led around a literal", () => {
    fc.assert(
      fc.property(entries, request, (given, path) => {
        const { registry } = createRegistry(given);
        for (const method of ["BOOK", "AUDIT"]) {
          const claiming = bestOf(registry.entries, method, path);
          const plain = bestOf(registry.entries, method, path.replaceAll("%61", "a"));
          // A segment that is another entry's own without its encoding is a value of none.
          const best = claiming === plain ? claiming : undefined;
          const found = registry.find(method, path);
          expect(found?.entry).toBe(best);
          const values = Object.entries(found?.values ?? {});
          for (const [name, value] of values) {
            expect(path.split("/")[best?.path.split("/").indexOf(`{${name}}`) ?? -1]).toBe(value);
          }
          expect(values).toHaveLength(best === undefined ? 0 : parametersOf(best.path));
          expect(registry.methodsFor(path).includes(method)).toBe(best !== undefined);
        }
      }),
      { numRuns: 500 },
    );
  });

  it("reports the conflicts that comparing each with each finds", () => {
    fc.assert(
      fc.property(entries, (given) => {
        const { registry, conflicts } = createRegistry(given);
        const kept: Pair[] = [];
        const refused: Pair[] = [];
        for (const entry of given) {
          (kept.some((other) => rivals(entry, other)) ? refused : kept).push(entry);
        }
        expect(registry.entries).toEqual(kept);
        expect(conflicts.map(({ entry }) => entry)).toEqual(refused);
        for (const { entry, other } of conflicts) expect(rivals(entry, other)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});
