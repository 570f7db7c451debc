import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { loadCatalog } from "../../src/catalog/catalog-file.ts";
import {
  checkPath,
  checkTemplate,
  methodNames,
  templateParameters,
} from "../../src/catalog/path-grammar.ts";
import { cpuMs } from "../support/cpu-time.ts";

const file = fileURLToPath(new URL("../../catalog/methods.json", import.meta.url));
const names = methodNames(loadCatalog(file, "methods.json").catalog!, []);

const LITERAL = [..."ABCXYZabcxyz0189-._~!$&'()*+,;=:@"];
const ENCODED = ["%20", "%2F", "%C3%A9", "%7b", "%25", "%41"];
const segment = fc
  .string({ unit: fc.constantFrom(...LITERAL, ...ENCODED), minLength: 1, maxLength: 12 })
  .filter((text) => !names.has(bare(text)));
const characters = fc
  .array(fc.nat(0xffff), { maxLength: 40 })
  .map((codes) => String.fromCharCode(...codes));
const segments = fc.array(segment, { maxLength: 8 });
const parameter = fc.stringMatching(/^[A-Za-z0-9_]{1,12}$/);

/** A method name as somebody might hide it: any case, with separators, some letters encoded. */
const disguised = fc.constantFrom(...names).chain((name) =>
  fc
    .array(
      fc.record({
        before: fc.constantFrom("", "", "-", "_", "%2D", "--"),
        form: fc.constantFrom("upper", "lower", "encoded"),
      }),
      { minLength: name.length, maxLength: name.length },
    )
    .map((forms) =>
      forms.map(({ before, form }, index) => before + write(name[index]!, form)).join(""),
    ),
);

function write(letter: string, form: string): string {
  if (form === "upper") return letter;
  if (form === "lower") return letter.toLowerCase();
  return `%${letter.charCodeAt(0).toString(16)}`;
}

function bare(text: string): string {
  return decodeURIComponent(text).replace(/[-_]/g, "").toUpperCase();
}

describe("the path grammar", () => {
  it("accepts every path of legal segments that are no method names", () => {
    fc.assert(
      fc.property(segments, (parts) => {
        const path = `/${parts.join("/")}`;
        expect(checkPath(path, names)).toBeUndefined();
        expect(checkTemplate(path, names)).toBeUndefined();
      }),
    );
  });

  it("refuses a method name at any place, in any disguise, and names the segment", () => {
    fc.assert(
      fc.property(segments, disguised, fc.nat(), (parts, method, place) => {
        const path = `/${parts.toSpliced(place % (parts.length + 1), 0, method).join("/")}`;
        expect(checkPath(path, names)?.segment).toBe(method);
        expect(checkTemplate(path, names)?.segment).toBe(method);
      }),
    );
  });

  it("accepts a template of unique parameters, and refuses it as a request path", () => {
    fc.assert(
      fc.property(fc.uniqueArray(parameter, { minLength: 1, maxLength: 6 }), (parameters) => {
        const path = `/${parameters.map((name) => `{${name}}`).join("/")}`;
        expect(checkTemplate(path, names)).toBeUndefined();
        expect(templateParameters(path)).toEqual(parameters);
        expect(checkPath(path, names)?.segment).toBe(`{${parameters[0]}}`);
        expect(checkTemplate(`${path}/{${parameters[0]}}`, names)).toBeDefined();
      }),
    );
  });

  it("never throws, and accepts only what the ABNF generates", () => {
    const legal =
      /^\/(?:(?:[\w\-.~!$&'()*+,;=:@]|%[\da-fA-F]{2})+(?:\/(?:[\w\-.~!$&'()*+,;=:@]|%[\da-fA-F]{2})*)*)?$/;
    const noise = fc.string({
      unit: fc.constantFrom("/", "/", "%", "4", "a", "{", "}", "é", " ", "?"),
    });
    fc.assert(
      fc.property(fc.oneof(noise, characters), (text) => {
        for (const path of [text, `/${text}`]) {
          const fault = checkPath(path, names);
          if (fault === undefined) expect(path).toMatch(legal);
          checkTemplate(path, names);
          templateParameters(path);
        }
      }),
    );
  });

  it("takes a path of 8 KiB without delay, whatever it is made of", () => {
    for (const unit of ["/", "-", "a", "%41", "%", "{", "b-", "/book-", "{a}/"]) {
      const path = `/a/${unit.repeat(8192 / unit.length)}`;
      const started = cpuMs();
      checkPath(path, names);
      checkTemplate(path, names);
      expect(cpuMs() - started, unit).toBeLessThan(500);
    }
  });
});
