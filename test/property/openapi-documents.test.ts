/** OpenAPI documents that somebody else wrote, with anything in the place of anything.   AGTP-API §14.1 */
import fc from "fast-check";
import { expect, it } from "vitest";
import { isRecord } from "../../src/base/json-value.ts";
import { parseToml } from "../../src/base/toml-document.ts";
import { importDocument } from "../../src/openapi/import-document.ts";
import { importFiles, loadShippedCatalog } from "../../src/openapi/import-files.ts";
import { checkDocument, readDocument } from "../../src/openapi/read-document.ts";
import { PET_SHOP } from "../support/openapi-documents.ts";

const shipped = loadShippedCatalog();

/** Values that a document has nowhere, or somewhere else. */
const STRANGE: readonly unknown[] = [
  ...[
    null,
    true,
    0,
    -1,
    1e308,
    "",
    " ",
    "\ud800",
    "../x",
    "/{a}/{a}",
    "__proto__",
    "x".repeat(5_000),
  ],
  ...[
    "#",
    "#/components/schemas/Pet",
    "#/nowhere",
    "https://[::1",
    `\${HOME}`,
    '"""\n[x]',
    "(a+)+$",
  ],
  ...[
    [],
    {},
    [null],
    [{}],
    { $ref: "#" },
    { allOf: [null, true, { $ref: "#/components/schemas/Pet" }] },
  ],
  ...[{ type: "odd" }, { enum: [] }, { pattern: "[" }, { in: "header", name: "Host", schema: {} }],
  JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'),
];

type Way = readonly string[];

/** The ways to all members and items of a value. */
function waysIn(value: unknown, way: Way = []): readonly Way[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const here = [...way, name];
    return [here, ...waysIn(member, here)];
  });
}

const edit = fc.record({
  way: fc.constantFrom(...waysIn(PET_SHOP)),
  value: fc.constantFrom(...STRANGE),
});

/** Puts a value at the end of a way, or where it ends now. */
function put(document: object, { way, value }: { readonly way: Way; readonly value: unknown }) {
  let owner = document as Record<string, unknown>;
  for (const [depth, name] of way.entries()) {
    const member = owner[name];
    if (depth === way.length - 1 || typeof member !== "object" || member === null) {
      owner[name] = structuredClone(value);
      return;
    }
    owner = member as Record<string, unknown>;
  }
}

it("a document is a deployment whose files can be read, or is refused in words, whatever is in it", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 4 }), async (edits) => {
      const altered = structuredClone(PET_SHOP);
      for (const one of edits) put(altered, one);
      const read = await readDocument(JSON.stringify(altered));
      if (read.kind === "fault") {
        expect(read.message).toMatch(/^\S/);
        return;
      }
      if (checkDocument(read.document).length > 0) return;
      const result = importDocument(read.document, { catalog: shipped.catalog });
      if (result.kind === "fault") {
        expect(result.message).toMatch(/^\S/);
        return;
      }
      const files = importFiles(result.imported, [], shipped);
      expect(new Set(files.map(({ path }) => path)).size).toBe(files.length);
      for (const { path, content } of files) {
        expect(path).toMatch(/^[\w.-]+(?:\/[\w.-]+)*$/);
        expect(path).not.toContain("..");
        if (path.endsWith(".toml")) expect(isRecord(parseToml(content).table)).toBe(true);
      }
      expect({}).not.toHaveProperty("polluted");
    }),
    { numRuns: 100 },
  );
});
