import { describe, expect, it } from "vitest";
import type { SchemaError } from "../../src/contract/schema-violation.ts";
import { createWording, violationsText } from "../../src/contract/violation-wording.ts";

const missing = (member: string, instancePath = ""): SchemaError => ({
  keyword: "required",
  instancePath,
  params: { missingProperty: member },
  message: `must have required property '${member}'`,
});

describe("createWording", () => {
  it("words an error once", () => {
    const word = createWording();
    const violation = word(missing("room"));
    expect(violation).toEqual({ path: "/room", keyword: "required", message: "is required" });
    expect(word(missing("room"))).toBe(violation);
  });

  it("tells errors about one member apart, by where it is and what the rule says", () => {
    const word = createWording();
    const ROOMS = ["single", "double"];
    const listed = (allowedValues: readonly string[]): SchemaError => ({
      keyword: "enum",
      instancePath: "/room",
      params: { allowedValues },
      message: "must be equal to one of the allowed values",
    });
    word(missing("room"));
    expect(word(missing("room", "/guest")).path).toBe("/guest/room");
    expect(word(listed(ROOMS)).message).toBe('must be one of "single", "double"');
    expect(word(listed(["suite"])).message).toBe('must be one of "suite"');
    expect(word({ ...listed(ROOMS), propertyName: "room" }).path).toBe("/room/room");
    expect(word({ ...missing("room"), keyword: "dependentRequired" }).keyword).toBe(
      "dependentRequired",
    );
  });

  it("keeps neither what is long nor more than a thousand or so", () => {
    const word = createWording();
    const long = missing("k".repeat(200));
    expect(word(long)).not.toBe(word(long));
    expect(word(long)).toEqual(word(long));
    const nested = missing("room", `/${"k".repeat(200)}`);
    expect(word(nested)).not.toBe(word(nested));
    const first = word(missing("room"));
    for (let index = 0; index < 1024; index += 1) word(missing(`k${index}`));
    expect(word(missing("room"))).not.toBe(first);
    expect(word(missing("room"))).toEqual(first);
  });
});

describe("violationsText", () => {
  it("is the JSON of the violations, wherever they come from", () => {
    const word = createWording();
    const violations = [
      word(missing('"\u2028"')),
      { path: "", keyword: "depth", message: "is nested too deeply" },
      word(missing("room")),
    ];
    expect(violationsText(violations)).toBe(JSON.stringify(violations));
    expect(violationsText([])).toBe("[]");
  });
});
