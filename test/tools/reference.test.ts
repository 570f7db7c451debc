import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { count, flag, list, table, text } from "../../src/schema/section-field.ts";
import { referencePages } from "../../tools/reference/pages.ts";
import { schemaTables } from "../../tools/reference/schema-tables.ts";

describe("the reference", () => {
  it.each([...referencePages()])("%s is what the code says: npm run reference", (file, made) => {
    expect(readFileSync(`docs/reference/${file}`, "utf8")).toBe(made);
  });

  it("has a table of keys for each table of a file", () => {
    const schema = table("A file", {
      server: table("Who", { port: count(4480, "Where | or not", 65_535, 0) }, ["port"]),
      peers: list(table("One", { name: text("", "Its name"), ok: flag(true, "Is it") }), "All"),
    });
    expect(schemaTables(schema).split("\n")).toEqual([
      "A file.",
      "",
      "## `[server]`",
      "",
      "Who.",
      "",
      "| key | value | default | meaning |",
      "|---|---|---|---|",
      "| `port` | integer 0 to 65535 | `4480` | Where \\| or not |",
      "",
      "## `[[peers]]`",
      "",
      "One.",
      "",
      "| key | value | default | meaning |",
      "|---|---|---|---|",
      '| `name` | text | `""` | Its name |',
      "| `ok` | `true` `false` | `true` | Is it |",
    ]);
  });
});
