import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseEndpointFile } from "../../src/endpoint/endpoint-file.ts";
import { parseRecipeFile } from "../../src/endpoint/recipe-file.ts";
import { createSchemaCompiler } from "../../src/schema/schema.ts";
import { BOOK_ROOM, FETCH_ARTICLE } from "../support/endpoint-toml.ts";
import { smallVocabulary } from "../support/vocabulary.ts";

const CONTEXT = {
  ...smallVocabulary(),
  directory: "/nowhere",
  env: { API_HOST: "api.acme.example", API_TOKEN: "t" },
};
const RECIPE = `[[recipe]]
name = "r"
version = "1"
pattern = { method_exact = "AUDIT", path_regex = "^/a$" }
steps = [{ method = "QUERY", capture_as = "a", parameters = { x = { kind = "constant", value = 1 } } }]
`;

/** A text with a few lines replaced, removed or repeated. */
function mutationsOf(text: string): fc.Arbitrary<string> {
  const lines = text.split("\n");
  const line = fc.oneof(
    fc.constantFrom("", ...lines),
    fc.constantFrom("a = 1", "[endpoint]", "[[endpoint]]", "type = []", "name = {}", "= ", '"'),
    fc.constantFrom("handler = 1", "[endpoint.input]", "x = 2024-01-01", "list = [[1]]", "x = nan"),
    fc.string(),
  );
  const edit = fc.tuple(fc.nat(lines.length - 1), fc.nat(2), line);
  return fc.array(edit, { minLength: 1, maxLength: 4 }).map((edits) => {
    const changed = [...lines];
    for (const [at, removed, added] of edits) changed.splice(at, removed, added);
    return changed.join("\n");
  });
}

describe("files that operators write", () => {
  it.each([
    ["an endpoint file", BOOK_ROOM],
    ["an endpoint file with field lists", FETCH_ARTICLE],
  ])(
    "%s is a definition that compiles or a list of problems, whatever is done to it",
    (_, text) => {
      fc.assert(
        fc.property(mutationsOf(text), (mutated) => {
          const { definition, problems } = parseEndpointFile(mutated, "endpoints/x.toml", CONTEXT);
          expect(definition === undefined).toBe(problems.length > 0);
          for (const problem of problems) {
            expect(problem.file).toBe("endpoints/x.toml");
            expect(problem.message).toMatch(/^\S.*[^.]$/);
          }
          if (definition === undefined) return;
          const where = { file: "endpoints/x.toml", key: "" };
          const { compiled } = createSchemaCompiler().compile(definition.inputSchema, where);
          expect(() => compiled?.check({})).not.toThrow();
        }),
        { numRuns: 300 },
      );
    },
  );

  it("a recipe file is recipes or a list of problems, whatever is done to it", () => {
    fc.assert(
      fc.property(mutationsOf(RECIPE), (mutated) => {
        const { recipes, problems } = parseRecipeFile(mutated, "recipes/x.toml", CONTEXT);
        expect(recipes.length > 0 || problems.length > 0).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});
