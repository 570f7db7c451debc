import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { count, flag, list, table, text } from "../../src/schema/section-field.ts";
import { type RecordFacts, recordPayload } from "../../src/state/records/record.ts";
import { referencePages } from "../../tools/reference/pages.ts";
import { schemaTables } from "../../tools/reference/schema-tables.ts";

/** Everything that a record may say of a response. */
const FACTS: RecordFacts = {
  ...{ agentId: "a", ownerId: "o", requestId: "r", responseId: "s", actionId: "x" },
  ...{ method: "QUERY", requestedMethod: "GET", path: "/", status: 200, sessionId: "s" },
  ...{ taskId: "t", principalId: "p", traceId: "0".repeat(32), assurance: "unverified" },
  ...{ requestBody: "", responseBody: "" },
};

describe("the reference", () => {
  it.each([...referencePages()])("%s is what the code says: npm run reference", (file, made) => {
    expect(readFileSync(`docs/reference/${file}`, "utf8")).toBe(made);
  });

  it("names every member that a record may have", () => {
    const page = readFileSync("docs/attribution.md", "utf8");
    const { before, after } = recordPayload(FACTS, "server", 0);
    const members = Object.keys(JSON.parse(`${before}${after}`));
    expect(members.length).toBeGreaterThan(18);
    expect(members.filter((member) => !page.includes(`\`${member}\``))).toEqual([]);
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
