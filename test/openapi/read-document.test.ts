/** Texts that are documents, and texts that would be too much. */
import { describe, expect, it } from "vitest";
import { checkDocument, readDocument } from "../../src/openapi/read-document.ts";
import { References } from "../../src/openapi/references.ts";
import { validateDocument } from "../../src/openapi/validate-document.ts";

async function faultOf(text: string): Promise<string> {
  const read = await readDocument(text);
  return read.kind === "fault" ? read.message : "";
}

/** Ten levels of nine aliases each. */
const BOMB = Array.from({ length: 10 }, (_, level) => {
  const items = Array.from({ length: 9 }, () => (level === 0 ? "x" : `*a${level - 1}`));
  return `a${level}: &a${level} [${items.join(", ")}]`;
}).join("\n");

describe("readDocument", () => {
  it.each(["\n", "\r\n"])("takes marks beside each other for no depth, behind %j", async (end) => {
    const lines = [
      "flow:",
      ...Array(300).fill("  - [{ a: b }, c]"),
      `text: "${"[".repeat(300)}"`,
      ...[
        "block: |",
        ...Array(300).fill("  - [{"),
        `# ${"[".repeat(300)}`,
        `plain: a${"[".repeat(300)}`,
      ],
    ];
    expect(await readDocument(lines.join(end))).toMatchObject({
      kind: "document",
      document: { flow: Array(300).fill([{ a: "b" }, "c"]), plain: `a${"[".repeat(300)}` },
    });
  });

  it("reads JSON and YAML as the same values, keys and numbers included", async () => {
    const yaml = `
openapi: 3.1.0
paths:
  /x: &item
    get: { responses: { 200: { description: "2020-01-01" } } }
  /y: { <<: *item }
x-date: 2020-01-01
`;
    const get = { responses: { "200": { description: "2020-01-01" } } };
    const document = {
      openapi: "3.1.0",
      paths: { "/x": { get }, "/y": { get } },
      "x-date": "2020-01-01",
    };
    expect(await readDocument(yaml)).toEqual({ kind: "document", document });
    expect(await readDocument(JSON.stringify(document))).toEqual({ kind: "document", document });
  });

  it.each([
    ["", "is no OpenAPI document"],
    ["just words", "is no OpenAPI document"],
    ["- a\n- b", "is no OpenAPI document"],
    ['{"openapi": ', "is not JSON: "],
    ["a: [1", "is not YAML: "],
    ["a: 1\na: 2", "is not YAML: Map keys must be unique"],
    ["a: *nobody", "is not YAML: "],
    ["a: &a { b: *a }", "is nested deeper than 200 levels"],
    [`a: ${"[".repeat(30_000)}`, "is nested deeper than 200 levels"],
    [`a: ${"[".repeat(3_000_000)}`, "is nested deeper than 200 levels"],
    ["- ".repeat(1_000_000), "is nested deeper than 200 levels"],
    [`${'{"a":'.repeat(300)}1${"}".repeat(300)}`, "is nested deeper than 200 levels"],
    [BOMB, "is not YAML: Excessive alias count"],
  ])("refuses the text of case %# in words", async (text, message) => {
    expect(await faultOf(text)).toContain(message);
  });

  it("keeps a member called __proto__ a member", async () => {
    for (const text of ['{"__proto__": {"x": 1}}', "__proto__: { x: 1 }"]) {
      const read = await readDocument(text);
      expect(read.kind === "document" && Object.keys(read.document)).toEqual(["__proto__"]);
      expect(({} as { x?: number }).x).toBeUndefined();
    }
  });
});

const WHOLE = {
  openapi: "3.0.3",
  info: { title: "x", version: "1" },
  paths: { "/x": { get: { responses: {} } } },
};

describe("checkDocument", () => {
  it.each(["3.0.0", "3.0.4", "3.1.0", "3.1", 3.1, 3, "3.2.0", 3.2])(
    "takes version %j",
    (openapi) => {
      expect(checkDocument({ ...WHOLE, openapi })).toEqual([]);
    },
  );

  it.each([
    [{ swagger: "2.0", info: {} }, 'is Swagger "2.0", expected OpenAPI 3.0 to 3.2: convert'],
    [{ ...WHOLE, openapi: "3.3.0" }, 'is OpenAPI "3.3.0", expected 3.0, 3.1 or 3.2'],
    [{ ...WHOLE, openapi: "4.0.0" }, 'is OpenAPI "4.0.0", expected 3.0, 3.1 or 3.2'],
    [{ paths: {} }, "is no OpenAPI document: it has no member openapi"],
    [{ ...WHOLE, paths: {} }, "has no paths"],
    [{ ...WHOLE, paths: [] }, "has no paths"],
    [{ ...WHOLE, info: 1 }, "info is missing"],
  ])("refuses %j in words", (document, message) => {
    expect(checkDocument(document).join("\n")).toContain(message);
  });

  it.each([
    "./pet.yaml",
    "pet.yaml#/Pet",
    "/etc/passwd",
    "file:///etc/passwd",
    "https://schemas.example/pet.json",
    "//schemas.example/pet",
    "",
  ])("refuses the reference %j, wherever it is", ($ref) => {
    const schema = { properties: { example: { $ref } } };
    const document = { ...WHOLE, components: { schemas: { Pet: schema } } };
    const [fault] = checkDocument(document);
    expect(fault).toContain("/components/schemas/Pet/properties/example/$ref: ");
    expect(fault).toContain("is outside the document, which is never followed");
  });

  it("passes over what only looks like a reference", () => {
    const properties = { $ref: { type: "string" } };
    const schema = {
      properties,
      example: { $ref: "x" },
      default: { $ref: "y" },
      "x-z": { $ref: "z" },
    };
    expect(checkDocument({ ...WHOLE, components: { schemas: { Pet: schema } } })).toEqual([]);
  });
});

describe("References", () => {
  const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

  it("names those to nothing, and those that go round in circles", () => {
    const schemas = { A: ref("B"), B: ref("A"), C: ref("Nobody") };
    const references = new References({ ...WHOLE, components: { schemas } });
    const faults = references.describeDangling();
    expect(faults).toHaveLength(3);
    for (const fault of faults) expect(fault).toContain("leads to nothing in the document");
  });

  it("finds one to nothing however far it is away, also where schemas refer to each other", () => {
    const properties = { next: ref("Two"), whole: ref("Whole"), own: ref("One") };
    const schemas = {
      One: { properties },
      Two: { allOf: [ref("Three"), ref("One")] },
      Three: { items: { items: ref("Nobody") } },
      Whole: { properties: { own: ref("Whole") }, example: ref("Nobody") },
    };
    const references = new References({ ...WHOLE, components: { schemas } });
    const reason =
      'the reference "#/components/schemas/Nobody" leads to nothing in the document, or to itself';
    for (const name of ["One", "Two", "Three", "One/properties/next", "Nobody"]) {
      expect(references.findFault([{ schema: ref(name) }])).toBe(reason);
    }
    for (const name of ["Whole", "Three/items~1x", "One/properties/whole"]) {
      const expected = name.includes("~1") ? expect.stringContaining("~1x") : undefined;
      expect(references.findFault([{ schema: ref(name) }])).toEqual(expected);
    }
  });
});

describe("validateDocument", () => {
  it("says what a document breaks, without following or expanding anything", async () => {
    const $ref = "#/paths/~1x";
    const hostile = { parameters: Array.from({ length: 20 }, () => ({ $ref })), get: {} };
    const document = { ...WHOLE, paths: { "/x": hostile } };
    const warnings = await validateDocument(document);
    expect(warnings.length).toBeGreaterThan(0);
    expect(warnings.length).toBeLessThanOrEqual(20);
    for (const warning of warnings) expect(warning).not.toContain("\n");
  });

  it("has nothing to say about a whole one", async () => {
    const get = { responses: { "200": { description: "x" } } };
    expect(await validateDocument({ ...WHOLE, paths: { "/x": { get } } })).toEqual([]);
  });
});
