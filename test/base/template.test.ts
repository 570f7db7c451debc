import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  fillTemplate,
  templateNames,
  templatePieces,
  templateShape,
} from "../../src/base/template.ts";

describe("a template", () => {
  it("names its places in order, as often as they occur", () => {
    expect(templateNames("/rooms/{room}/nights/{night}?again={room}")).toEqual([
      "room",
      "night",
      "room",
    ]);
  });

  it("is filled at the places that have a value", () => {
    const values = new Map([["room", "$&{night}"]]);
    expect(fillTemplate("/{room}/{night}", (name) => values.get(name))).toBe("/$&{night}/{night}");
  });

  it("has the shape of every template that differs in names alone", () => {
    expect(templateShape("/rooms/{room}/{night}")).toBe("/rooms/{}/{}");
    expect(templateShape("/rooms/{a}/{b}")).toBe("/rooms/{}/{}");
    expect(templateShape("/rooms")).toBe("/rooms");
  });

  it("takes a brace that belongs to no place for text", () => {
    expect(templatePieces("{a}{}{b/c}}-{d}")).toEqual([
      { kind: "parameter", name: "a" },
      { kind: "literal", text: "{}{b/c}}-" },
      { kind: "parameter", name: "d" },
    ]);
  });

  it("is the sum of its pieces", () => {
    const text = fc.string({ unit: fc.constantFrom("{", "}", "/", "a", "é", "💤") });
    fc.assert(
      fc.property(text, (template) => {
        const pieces = templatePieces(template).map((piece) =>
          piece.kind === "literal" ? piece.text : `{${piece.name}}`,
        );
        expect(pieces.join("")).toBe(template);
      }),
    );
  });
});
