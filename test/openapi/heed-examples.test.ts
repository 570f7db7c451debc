/** Outputs of imported endpoints beside the document's own examples of them. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeOpenApiProgram } from "../support/openapi-program.ts";

const PAGE = {
  type: "object",
  properties: {
    uri: { type: "string", format: "uri" },
    hook: { $ref: "#/components/schemas/Link" },
    made: { type: "string", format: "date" },
    price: { type: "number", nullable: true },
  },
};

/** The output and the remarks of an endpoint that is imported with these parts of its JSON content. */
async function imported(content: object): Promise<{ output: unknown; remarks: readonly string[] }> {
  const program = makeOpenApiProgram({});
  const json = { "application/json": { schema: PAGE, ...content } };
  const document = {
    ...{ openapi: "3.0.3", info: { title: "x", version: "1" } },
    servers: [{ url: "https://x.example" }],
    paths: { "/calls": { get: { responses: { "200": { description: "x", content: json } } } } },
    components: {
      schemas: { Link: { type: "string", format: "uri" } },
      examples: { page: { value: { uri: "/calls?page=0" } } },
    },
  };
  writeFileSync(join(program.directory, "x.json"), JSON.stringify(document));
  await program.run("import", "x.json", "--output", "out");
  const [table = {}] = Object.values(program.endpoints("out"));
  const remarks = program
    .read("out/REVIEW.md")
    .split("\n")
    .filter((line) => line.includes("its own example"));
  return { output: table["output_schema"], remarks };
}

const properties = (format: object): object => ({
  type: "object",
  properties: {
    uri: { type: "string", ...format },
    hook: { type: "string", ...format },
    made: { type: "string", format: "date" },
    price: { type: ["number", "null"] },
  },
});

describe("an output whose example", () => {
  it.each<[string, object]>([
    ["keeps its formats", { example: { uri: "https://x.example/", made: "2030-05-04" } }],
    ["is no body", { examples: { none: { value: null } } }],
    ["is not there", {}],
  ])("%s is as the document describes it", async (_, content) => {
    expect(await imported(content)).toEqual({
      output: properties({ format: "uri" }),
      remarks: [],
    });
  });

  it.each<[string, object, string]>([
    ["is a path", { example: { uri: "/calls" } }, "/uri"],
    ["is empty", { examples: { a: { value: { hook: "" } } } }, "/hook"],
    ["is a component", { examples: { a: { $ref: "#/components/examples/page" } } }, "/uri"],
  ])("%s has the format no more, and that is said", async (_, content, place) => {
    expect(await imported(content)).toEqual({
      output: properties({}),
      remarks: [`- [ ] its own example is no "uri" at ${place}: the output has not this format`],
    });
  });

  it("is of another type stays as it is, and that is said", async () => {
    const { output, remarks } = await imported({ example: { price: "0.00" } });
    expect(output).toEqual(properties({ format: "uri" }));
    expect(remarks).toEqual([
      "- [ ] its own example does not fit the output: /price must be number or null; such an answer is a 500",
    ]);
  });
});
