import { describe, expect, it } from "vitest";
import { parseCase } from "../../../src/programs/conformance/case.ts";
import {
  clausesIn,
  compareClauses,
  liesWithin,
  readClause,
  requirementOf,
  titleOf,
} from "../../../src/programs/conformance/clauses.ts";

const EXCHANGE = "AGTP/1.0 QUERY /a\n----------\nAGTP/1.0 200 OK";

function parse(notes: string, exchanges = EXCHANGE) {
  return parseCase(`# AGTP-API §5.1, §13.1(3)\n${notes}${exchanges}\n`, "cases/5.1-name.agtp");
}

describe("parseCase", () => {
  it("reads what the notes say", () => {
    const notes =
      "# title: It is so\n# needs: agent, known-path\n# level: should\n# changes: state\n";
    expect(parse(notes)).toMatchObject({
      problems: [],
      case: {
        name: "5.1-name",
        title: "It is so",
        clauses: ["5.1", "13.1(3)"],
        requirements: [3],
        level: "should",
        needs: ["agent", "known-path"],
        changesState: true,
      },
    });
  });

  it("takes a case for a MUST that changes nothing unless it says otherwise", () => {
    const { case: one } = parse("# title: It is so\n");
    expect(one).toMatchObject({ level: "must", needs: [], changesState: false });
  });

  it.each([
    ["", 'expected a note "title"'],
    ["# title: x\n# needs: luck\n", '"luck" is none of the needs that a case can name'],
    ["# title: x\n# level: may\n", 'the level is must or should, got "may"'],
    ["# title: x\n# changes: everything\n", 'what a case changes is "state", got "everything"'],
    ["# title: x\n# changed: state\n", 'there is no note "changed"'],
  ])("finds fault with the notes %j", (notes, message) => {
    const { case: one, problems } = parse(notes);
    expect(one).toBeUndefined();
    expect(problems[0]?.message).toContain(message);
  });

  it("finds fault with a case without a clause", () => {
    const { problems } = parseCase(`# anything\n# title: x\n${EXCHANGE}`, "x.agtp");
    expect(problems[0]?.message).toBe('expected a clause, such as "AGTP-API §5.1", got "anything"');
  });

  it("reads alternatives, reasons to skip, and what is held in any case", () => {
    const text =
      "AGTP/1.0 QUERY /a\n----------\nAGTP/1.0 200 OK\n---------- or\nAGTP/1.0 204\n" +
      "---------- skip: it has none\nAGTP/1.0 404|405\n\n{}\n========== finally\n" +
      EXCHANGE;
    const exchanges = parse("# title: x\n", text).case?.exchanges;
    expect(exchanges?.map(({ isFinal }) => isFinal)).toEqual([false, true]);
    expect(exchanges?.[0]?.responses).toMatchObject([
      { status: "200", skipReason: undefined, body: { kind: "unwritten" } },
      { status: "204", skipReason: undefined },
      { status: "404|405", skipReason: "it has none", body: { kind: "json", value: {} } },
    ]);
  });

  it("names the line of a response that is none", () => {
    const text = "AGTP/1.0 QUERY /a\n----------\nAGTP/1.0 200 OK\n---------- or\nHTTP/1.1 200";
    const { problems } = parse("# title: x\n", text);
    expect(problems).toMatchObject([
      { key: "line 7", message: '"HTTP/1.1 200" is no status line' },
    ]);
  });
});

describe("clauses", () => {
  it("are found in a text", () => {
    expect(clausesIn("AGTP-API §5.1, §10.1.4.1 and §13.1(11).")).toEqual([
      "5.1",
      "10.1.4.1",
      "13.1(11)",
    ]);
  });

  it("lie within sections, not within others that begin alike", () => {
    expect(liesWithin("5.1", "5")).toBe(true);
    expect(liesWithin("5.1", "5.1")).toBe(true);
    expect(liesWithin("13.1(4)", "13.1")).toBe(true);
    expect(liesWithin("5.10", "5.1")).toBe(false);
    expect(liesWithin("5", "5.1")).toBe(false);
  });

  it("are read as somebody types them", () => {
    expect(readClause("§5.1")).toBe("5.1");
    expect(readClause("13.1(4)")).toBe("13.1(4)");
    expect(readClause("13.1.4")).toBe("13.1(4)");
    for (const text of ["", "five", "5.", "5.1-x", "1.2.3.4.5.6.7"]) {
      expect(readClause(text)).toBeUndefined();
    }
  });

  it("have the order of the draft, numbers, and titles", () => {
    const clauses = ["10.1", "5.8.1", "5.10", "5.8", "5.9"];
    expect(clauses.toSorted(compareClauses)).toEqual(["5.8", "5.8.1", "5.9", "5.10", "10.1"]);
    expect(requirementOf("13.1(4)")).toBe(4);
    expect(requirementOf("13.2")).toBeUndefined();
    expect(titleOf("10.1.4.1")).toBe("Stale Contract Sweep");
    expect(titleOf("99")).toBe("");
  });
});
