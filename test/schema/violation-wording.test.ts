import { describe, expect, it } from "vitest";
import type { SchemaError } from "../../src/schema/schema-violation.ts";
import { createWording, reportViolations } from "../../src/schema/violation-wording.ts";

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

describe("reportViolations", () => {
  const word = createWording();
  const TOO_DEEP = { path: "", keyword: "depth", message: "is nested too deeply" };
  const room = word(missing('"\u2028"'));
  const guest = word(missing("guest"));

  it.each([
    ["none", [], "the input is not valid"],
    ["of a value that is wrong as a whole", [TOO_DEEP, room], "/ is nested too deeply"],
    ["several", [room, TOO_DEEP, guest], '/"\u2028" is required'],
    ["the same in another order", [guest, TOO_DEEP, room], "/guest is required"],
    ["fewer", [guest, TOO_DEEP], "/guest is required"],
    ["that are kept", [guest, room], "/guest is required"],
    ["that begin with the same", [guest, room, TOO_DEEP, guest], "/guest is required"],
    ["that end before the same", [guest], "/guest is required"],
    ["equal ones", [{ ...guest }, TOO_DEEP], "/guest is required"],
  ])("has a sentence and the JSON of an error's members: %s", (_, violations, message) => {
    for (const time of [1, 2]) {
      const report = reportViolations([...violations]);
      expect([time, report.message]).toEqual([time, message]);
      const members = JSON.stringify({ message, details: { errors: violations } });
      expect([time, `{${report.text}}`]).toEqual([time, members]);
    }
  });
});
