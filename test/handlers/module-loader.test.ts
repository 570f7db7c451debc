/** These run the built loader in a Node of its own: `npm test` builds before it tests. */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Problem } from "../../src/base/problem.ts";
import { isPlainModule } from "../../src/handlers/module-loader.ts";
import { createDirectory } from "../support/directory.ts";

interface Outcome {
  readonly problems: readonly Problem[];
  readonly result?: { readonly body?: unknown };
  readonly stack?: string;
}

interface Phase {
  readonly files?: Readonly<Record<string, string>>;
  readonly references: readonly string[];
  readonly importTimeoutMs?: number;
  readonly slowAfterMs?: number;
}

type Outcomes = Readonly<Record<string, Outcome>>;

const DRIVER = fileURLToPath(new URL("../support/load-functions.mjs", import.meta.url));
const roots: string[] = [];

function makeRoot(): string {
  const root = mkdtempSync(join(tmpdir(), "agtpd handlers #%20-"));
  roots.push(root);
  return root;
}

async function run(root: string, phases: readonly Phase[]): Promise<Outcomes[]> {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [
    DRIVER,
    root,
    JSON.stringify(phases),
  ]);
  expect(stderr, "what an operator is warned of").not.toContain("DeprecationWarning");
  return JSON.parse(stdout) as Outcomes[];
}

afterAll(() => {
  for (const root of roots) rmSync(root, { recursive: true, force: true });
});

// AGTP-API §12.2: the server imports the module at registration time.
describe("createModuleLoader, for modules that load", () => {
  const files = {
    "rates.ts": `
      export interface Rate { readonly value: number }
      export enum Kind { Net = "net" }
      export const rate: Rate = { value: 7 };`,
    "desk/rooms.ts": `
      import { Handler } from "agtpd";
      import { Kind, type Rate, rate } from "../rates.js";
      import { nights } from "./nights";
      interface Unused {
        readonly name: string;
      }
      export const book: Handler = () => ({ body: [rate.value, Kind.Net, nights] });
      export const fail: Handler = () => {
        const none: Rate | undefined = undefined;
        return { body: (none as unknown as Rate).value };
      };`,
    "desk/nights.mts": "export const nights: number = 3;",
    "untyped.js": "export const answer = () => ({ body: 'esm' });",
    "plain.mjs": "export async function answer() { return { body: 'mjs' }; }",
    "common.js": "module.exports = { answer: () => ({ body: 'commonjs' }) };",
    "both.ts": "export const answer = () => ({ body: 'ts' });",
    "both.js": "export const answer = () => ({ body: 'js' });",
    "package.ts": 'export const answer = () => ({ body: import.meta.resolve("agtpd") });',
  };
  const references = [
    "desk.rooms.book",
    "desk.rooms.fail",
    "untyped.answer",
    "plain.answer",
    "common.answer",
    "both.answer",
    "package.answer",
  ];
  let outcomes: Outcomes;
  beforeAll(async () => {
    [outcomes = {}] = await run(makeRoot(), [{ files, references }]);
  });

  it("loads TypeScript with enums, types imported without `type`, .js for .ts, and no extension", () => {
    expect(outcomes["desk.rooms.book"]).toEqual({
      problems: [],
      result: { body: [7, "net", 3] },
    });
  });

  it("keeps TypeScript lines in stack traces", () => {
    expect(outcomes["desk.rooms.fail"]?.stack).toMatch(/desk\/rooms\.ts:11:/);
  });

  it("means this daemon by `agtpd`, wherever the deployment lies", () => {
    expect(outcomes["package.answer"]?.result?.body).toMatch(/^file:.*\/dist\/src\/index\.js$/);
  });

  it.each([
    ["an ES module in .js without a package.json", "untyped.answer", "esm"],
    [".mjs", "plain.answer", "mjs"],
    ["CommonJS", "common.answer", "commonjs"],
    ["TypeScript before JavaScript of the same name", "both.answer", "ts"],
  ])("loads %s", (_, reference, body) => {
    expect(outcomes[reference]).toEqual({ problems: [], result: { body } });
  });
});

describe("createModuleLoader, for modules that do not", () => {
  const files = {
    "rooms.ts": "export const book = () => ({}); export const count = 3;",
    "kinds.mjs":
      "export class Room {}\nexport function* each() {}\nexport async function* every() {}\n",
    "bad_types.ts": "export const a = 1;\n\nexport const b: = 3;\n",
    "imports_bad.ts": 'import "./bad_types.ts";\nexport const b = 1;\n',
    "bad.mjs": "const a = 1;\nexport const b = ;\n",
    "imports_bad_js.mjs": 'import { b } from "./bad.mjs";\nexport const c = b;\n',
    "bad_common.js": "const a = 1;\n\nmodule.exports = { ; };\n",
    "decorated.ts":
      "enum Kind { A }\n/** @param it none */\nconst keep = (it: any) => it;\nclass A {\n  @keep b() {}\n}\nexport const f = A;\n",
    "imports_decorated.ts": 'import { f } from "./decorated.ts";\nexport const c = f;\n',
    "throws.ts":
      "interface A {\n  a: string;\n}\nconst x: any = undefined;\nexport const f = x.y();",
    "throws_text.js": "throw 'no database';\nexport const f = 1;\n",
    "wants_export.ts": 'import { none } from "./rooms.ts";\nexport const f = none;\n',
    "wants_module.ts": 'import { none } from "./nowhere.ts";\nexport const f = none;\n',
    "wants_package.ts": 'import { none } from "no-such-package";\nexport const f = none;\n',
  };
  const expected: [reference: string, message: RegExp][] = [
    ["room.book", /^module "room" does not exist, looked for \.ts, \.mts, \.js, \.mjs$/],
    ["rooms.boook", /^module "rooms\.ts" has no export "boook"$/],
    ["rooms.toString", /^module "rooms\.ts" has no export "toString"$/],
    ["rooms.default", /^module "rooms\.ts" has no export "default"$/],
    ["rooms.count", /^export "count" of "rooms\.ts" must be a function, is number$/],
    ["kinds.Room", /^export "Room" of "kinds\.mjs" must be a function, is a class$/],
    ["kinds.each", /^export "each" of "kinds\.mjs" must be a function, is a generator function$/],
    ["kinds.every", /^export "every" of "kinds\.mjs" must be a function, is a generator function$/],
    ["rooms.book.more", /^module "rooms\/book" does not exist/],
    ["book", /^"book" must be identifiers joined by dots/],
    ["bad_types.b", /^"bad_types\.ts" does not parse: bad_types\.ts:3:17: /],
    ["imports_bad.b", /^"imports_bad\.ts" does not parse: bad_types\.ts:3:17: /],
    ["bad.b", /^"bad\.mjs" does not parse: Unexpected token ';', at bad\.mjs:2$/],
    ["imports_bad_js.c", /^"imports_bad_js\.mjs" does not parse: .*, at bad\.mjs:2$/],
    ["bad_common.f", /^"bad_common\.js" does not parse: .*, at bad_common\.js:3$/],
    ["decorated.f", /^"decorated\.ts" does not parse: .*, at decorated\.ts:5, a decorator, which/],
    ["imports_decorated.c", /^"imports_decorated\.ts" does not parse: .*, at decorated\.ts:5, a/],
    ["throws.f", /^"throws\.ts" threw on import: TypeError: .*, at throws\.ts:5:20$/],
    ["throws_text.f", /^"throws_text\.js" threw on import: no database$/],
    ["wants_export.f", /^"wants_export\.ts" imports what does not exist: .*'none'$/],
    ["wants_module.f", /^"wants_module\.ts" imports what does not exist: .*'nowhere\.ts'/],
    ["wants_package.f", /^"wants_package\.ts" imports what does not exist: .*'no-such-package'/],
    ["directory.f", /^module "directory\.ts" must be a regular file$/],
    ["outside.f", /^module "outside\.ts" leads outside the handlers root$/],
    ["out.side.f", /^module "out\/side\.ts" leads outside the handlers root$/],
    ["loop.f", /^module "loop\.ts" is a loop of symbolic links$/],
    ["gone.f", /^module "gone\.ts" is a symbolic link that leads nowhere$/],
    ["inside.book", /^$/],
  ];
  let outcomes: Outcomes;
  beforeAll(async () => {
    const root = makeRoot();
    const elsewhere = makeRoot();
    writeFileSync(join(elsewhere, "side.ts"), "export const f = () => ({ body: 'secret' });");
    mkdirSync(join(root, "directory.ts"));
    symlinkSync(join(elsewhere, "side.ts"), join(root, "outside.ts"));
    symlinkSync(elsewhere, join(root, "out"));
    symlinkSync("loop.ts", join(root, "loop.ts"));
    symlinkSync("nobody.ts", join(root, "gone.ts"));
    symlinkSync("rooms.ts", join(root, "inside.ts"));
    const references = expected.map(([reference]) => reference);
    [outcomes = {}] = await run(root, [{ files, references }]);
  });

  it.each(expected)("says of %s what is wrong, and where", (reference, message) => {
    const { problems = [], result } = outcomes[reference] ?? {};
    expect(problems.map((problem) => problem.message).join()).toMatch(message);
    expect(result === undefined).toBe(problems.length === 1);
    for (const problem of problems) {
      expect(problem.file).toBe("endpoints/x.toml");
      expect(problem.key).toBe("endpoint.handler.function");
    }
  });

  it("suggests close matches of modules and of exports", () => {
    expect(outcomes["room.book"]?.problems[0]?.hint).toMatch(/^did you mean rooms/);
    expect(outcomes["rooms.boook"]?.problems[0]?.hint).toBe("did you mean book?");
    const hint = outcomes["rooms.default"]?.problems[0]?.hint;
    expect(hint).toMatch(/; a handler is: export default \(call\) => \(\{ body: \{\} \}\)$/);
  });

  it("does not wait for ever for a module's top level", async () => {
    const files = { "waits.ts": "await new Promise(() => {});\nexport const f = 1;\n" };
    const [waiting] = await run(makeRoot(), [
      { files, references: ["waits.f"], importTimeoutMs: 50 },
    ]);
    expect(waiting?.["waits.f"]?.problems[0]?.message).toBe(
      '"waits.ts" threw on import: Error: its top level was not done within 50 ms',
    );
  });

  it("tells of a top level that is slow, long before it is given up", async () => {
    const files = { "waits.mjs": "await new Promise(() => {});\nexport const f = 1;\n" };
    const [waiting] = await run(makeRoot(), [
      { files, references: ["waits.f"], importTimeoutMs: 1_000, slowAfterMs: 20 },
    ]);
    expect(waiting?.["told"]).toEqual([
      'the top level of "waits.mjs" is not done yet: it has 1 s in all',
    ]);
  });

  it("names a root that does not exist", async () => {
    const [missing] = await run(join(makeRoot(), "none"), [{ references: ["a.b"] }]);
    expect(missing?.["a.b"]?.problems[0]?.message).toMatch(
      /^the handlers root ".*" does not exist$/,
    );
  });
});

describe("createModuleLoader, for modules that have an end", () => {
  const end = `export const onClose = () => { throw new Error("ended"); };`;

  it("notes it, of every kind of module", async () => {
    const files = {
      "typed.ts": `export const f = () => ({ body: {} });\n${end}`,
      "again.ts": `export { f, onClose } from "./typed.ts";`,
      "plain.mjs": `export const f = () => ({ body: {} });\n${end}`,
      "common.js": `module.exports = { f: () => ({}), onClose() { throw new Error("ended"); } };`,
      "none.ts": "export const f = () => ({ body: {} });",
    };
    const references = ["typed.f", "again.f", "plain.f", "common.f", "none.f"];
    const [outcome] = await run(makeRoot(), [{ files, references }]);
    expect(outcome?.["told"]).toEqual(
      // The end of two modules is the one of the last.
      ["again.ts", "plain.mjs", "common.js"].map((name) => `onClose of "${name}" failed: ended`),
    );
  });

  it("takes nothing else for one, and it for no handler", async () => {
    const files = {
      "text.ts": `export const f = () => ({ body: {} });\nexport const onClose = "later";`,
      "ends.mjs": `export const f = () => ({ body: {} });\n${end}`,
    };
    const references = ["text.f", "ends.onClose", "ends.onclose"];
    const [outcome] = await run(makeRoot(), [{ files, references }]);
    const messages = references.map((one) => outcome?.[one]?.problems[0]?.message);
    expect(messages).toEqual([
      'export "onClose" of "text.ts" must be a function, is string',
      '"onClose" is called when "ends.mjs" is needed no more: it is no handler',
      'module "ends.mjs" has no export "onclose"',
    ]);
    const hint = outcome?.["ends.onclose"]?.problems[0]?.hint;
    expect(hint).toMatch(/^it exports f; /);
  });
});

describe("createModuleLoader, created again by a reload", () => {
  it("sees changed modules and whatever they import", async () => {
    const phases = ["one", "two"].map((word) => ({
      files: {
        "handlers.ts": `import { text } from "./text.ts"; export const f = () => ({ body: text });`,
        "text.ts": `export const text: string = "${word}";`,
        "common.js": `const { text } = require("./text-common.js");
          module.exports = { f: () => ({ body: text }) };`,
        "text-common.js": `exports.text = "${word}";`,
        "plain.mjs": `export const f = () => ({ body: "${word}" });`,
      },
      references: ["plain.f", "handlers.f", "common.f"],
    }));
    const bodies = (await run(makeRoot(), phases)).map((outcome) => [
      outcome["handlers.f"]?.result?.body,
      outcome["common.f"]?.result?.body,
      outcome["plain.f"]?.result?.body,
    ]);
    expect(bodies).toEqual([
      ["one", "one", "one"],
      ["two", "two", "two"],
    ]);
  });

  it("serves what could not be loaded before", async () => {
    const phases = ["export const f = ;", "export const f = () => ({ body: 'mended' });"].map(
      (text) => ({ files: { "handlers.ts": text }, references: ["handlers.f"] }),
    );
    const [broken, mended] = await run(makeRoot(), phases);
    expect(broken?.["handlers.f"]?.problems).toHaveLength(1);
    expect(mended?.["handlers.f"]?.result).toEqual({ body: "mended" });
  });
});

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
    [
      "rooms.mjs",
      'import pg from "pg";\nimport { S } from "@desk/rooms/s.js";\nexport const a = S;',
    ],
    [
      "rooms.mjs",
      '/** @param {import("agtpd").Call} call */\nexport const book = (call) => ({ body: {} });',
    ],
    [
      "rooms.mjs",
      '  /*\n   * Imports from nobody: import "./a.js"\n   */\n  // nor from here\nexport const a = 1;',
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
    ["rooms.mjs", 'import { createClient } from "agtpd/client";'],
    ["rooms.mjs", 'import { a } from "file:///desk.mjs";'],
    ["rooms.mjs", 'const text = "/*"; import { a } from "./rates.mjs"; const b = "*/";'],
    ["rooms.mjs", "const text = `\n/* `; import('./rates.mjs'); `\n*/`;"],
    ["rooms.mjs", `const text = \`\n// \${await import("./rates.mjs")}\n\`;`],
    ["rooms.mjs", "const trim = (s) => s.replace(/\\/*$/, '');\nimport('./rates.mjs'); /* b */"],
  ])("leaves %s to the hooks: %s", (name, text) => {
    expect(judge(name, text)).toBe(false);
  });

  it("leaves a file that is longer than it reads to the hooks", () => {
    expect(judge("rooms.mjs", `//${" ".repeat(256 * 1024)}`)).toBe(false);
  });
});
