import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isPlainModule } from "../../src/handlers/module-loader.ts";
import { createDirectory } from "../support/directory.ts";

function judge(name: string, text: string): boolean {
  const path = join(createDirectory(), name);
  writeFileSync(path, text);
  return isPlainModule(path);
}

// AGTP-API §12.2: what a module imports is loaded with it, and afresh after a reload.
describe("isPlainModule", () => {
  it.each([
    ["rooms.mjs", "export const book = () => ({ body: {} });"],
    ["rooms.js", "module.exports = { book: () => ({ body: {} }) };"],
    ["rooms.mjs", 'import { createHash } from "node:crypto";\nexport const book = createHash;'],
    ["rooms.mjs", "import fs, * as all from 'node:fs/promises';\nexport const book = fs;"],
    [
      "rooms.mjs",
      'import {\n  join,\n  sep as slash,\n} from "node:path";\nexport const a = join;',
    ],
  ])("takes %s: %s", (name, text) => {
    expect(judge(name, text)).toBe(true);
  });

  it.each([
    ["rooms.ts", "export const book = () => ({ body: {} });"],
    ["rooms.mts", "export const book = () => ({ body: {} });"],
    ["rooms.mjs", 'import { rate } from "./rates.mjs";'],
    ["rooms.mjs", 'import"./rates.ts";'],
    ["rooms.mjs", 'import { createClient } from "agtpd";'],
    ["rooms.mjs", 'export { book } from "./desk.mjs";'],
    ["rooms.mjs", 'export const book = async () => (await import("./desk.ts")).book();'],
    ["rooms.mjs", 'export const where = import.meta.resolve("agtpd");'],
    ["rooms.mjs", 'import { join } from "node:path"; import { rate } from "./rates.mjs";'],
    ["rooms.mjs", 'import { a } from "./rates.mjs"; const b = 1; import c from "node:path";'],
  ])("leaves %s to the hooks: %s", (name, text) => {
    expect(judge(name, text)).toBe(false);
  });

  it("leaves a file that is longer than it reads to the hooks", () => {
    expect(judge("rooms.mjs", `//${" ".repeat(256 * 1024)}`)).toBe(false);
  });
});
