/**
 * Every block of code in the documentation is run, or checked by what comes nearest: commands by the
 * programs that they name, configuration by the daemon's own check, code by its parser. A block that is
 * none of these is listed here, with the reason.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { parse as parseYaml } from "yaml";
import { RUN_PAGES } from "./support/doc-guides.ts";
import {
  commandsInProse,
  misunderstood,
  PAGES,
  type Snippet,
  snippetsOf,
} from "./support/doc-snippets.ts";
import { checkTomlOf } from "./support/doc-toml.ts";
import { ROOT } from "./support/source-tree.ts";

/** Blocks, by how they begin, that nothing here can judge. */
const LISTED: Readonly<Record<string, string>> = {
  "npm install --global agtpd": "the release script and test/package.test.ts install the package",
  "npm ci && npm start": "test/tools/sample.test.ts starts it",
  "npm ci && npm test": "continuous integration runs it",
  "node dist/tools/agtp.js agtp://localhost":
    "the sample's: test/docs.test.ts, test/tools/sample.test.ts",
  "npx vitest run": "how the tests are run",
  "cd examples/minimal": "test/examples.test.ts starts each as its own page says",
  " bytes ─▶ wire": "a drawing; test/docs.test.ts compares it with the gates",
  "src/\n": "a drawing; test/docs.test.ts compares it with the folders",
  "suite         {": "the shape of a report; test/programs/conformance has it",
  "# AGTP-API §5.8": "a case; its like are run by test/programs/conformance",
  "agents/openwop/clerk/pack.json": "a list of files",
  '<- {"jsonrpc"': "a transcript of messages; test/app/processes.test.ts has them",
  "$ curl -s": "calls of a sample; test/app/http-sidecar.test.ts makes them",
  "$ npx @modelcontextprotocol/inspector": "a program of others",
  "$ export NODE_EXTRA_CA_CERTS": "a program of others",
  "source <(agtpd completion": "test/programs/editors/completion.test.ts sources them",
  "openssl x509 -in operator.pem":
    "agtp-keys agent-cert prints the same, which the guide to approvals uses",
};

const snippets = PAGES.flatMap(snippetsOf);
const RUN = new Set(["sh", "daemon", "refused"]);

function isListed({ text }: Snippet): boolean {
  return Object.keys(LISTED).some((start) => text.startsWith(start));
}

/** The commands of ours in a block: its lines, continued ones joined. */
function commandsOf({ text }: Snippet): readonly string[] {
  const lines = text.replace(/\\\n\s*/g, " ").split("\n");
  const joined = lines
    .join("\n")
    .replace(/\n\s+(?=[[-])/g, " ")
    .split("\n");
  return joined
    .map((line) => line.replace(/^\$ /, ""))
    .filter((line) => /^agtp[a-z-]*(?: |$)/.test(line));
}

describe("the snippets of the documentation", () => {
  it("are of a kind that is run or checked, or listed with a reason", () => {
    const checked = new Set(["toml", "json", "js", "python", "yaml", "root"]);
    const unjudged = snippets.filter(
      (one) =>
        !(RUN.has(one.kind) && RUN_PAGES.has(one.page)) &&
        !checked.has(one.kind) &&
        commandsOf(one).length === 0 &&
        !isListed(one),
    );
    expect(unjudged).toEqual([]);
    const unused = Object.keys(LISTED).filter(
      (start) => !snippets.some(({ text }) => text.startsWith(start)),
    );
    expect(unused).toEqual([]);
  });

  it("are programs, commands and flags that there are, also in running text", async () => {
    const lines = [
      ...snippets.filter((one) => !isListed(one)).flatMap((one) => commandsOf(one)),
      ...PAGES.flatMap(commandsInProse),
    ];
    expect(lines.length).toBeGreaterThan(150);
    const wrong: string[] = [];
    for (const line of lines) {
      for (const word of await misunderstood(line)) wrong.push(`${word} in ${line}`);
    }
    expect(wrong).toEqual([]);
  });

  it("are JSON, JavaScript, Python and YAML where they say so", () => {
    const ofKind = (kind: string) => snippets.filter((one) => one.kind === kind);
    for (const { page, text } of ofKind("json")) {
      expect(() => JSON.parse(text), `${page}: ${text}`).not.toThrow();
    }
    for (const { page, text } of ofKind("js")) {
      const options = {
        reportDiagnostics: true,
        compilerOptions: { target: ts.ScriptTarget.ES2023 },
      };
      expect(ts.transpileModule(text, options).diagnostics, page).toEqual([]);
    }
    for (const { text } of ofKind("python")) {
      execFileSync("python3", ["-c", "import ast, sys; ast.parse(sys.stdin.read())"], {
        input: text,
      });
    }
    for (const { page, text } of ofKind("yaml")) {
      expect(() => parseYaml(text), page).not.toThrow();
      const metrics = text.match(/\bagtp_[a-z_]+/g) ?? [];
      for (const metric of metrics)
        expect(read("docs/reference/metrics.md")).toContain(`\`${metric}\``);
    }
  });

  it("for root name users, units, verbs and files that there are", () => {
    const unit = read("deploy/agtpd.service");
    const lines = snippets
      .filter(({ kind }) => kind === "root")
      .flatMap(({ text }) => text.split("\n"));
    expect(lines.length).toBeGreaterThan(5);
    for (const line of lines) {
      for (const [file] of line.matchAll(/\bdeploy\/[\w.-]+/g)) {
        expect(existsSync(join(ROOT, file)), line).toBe(true);
      }
      if (/^useradd|^install/.test(line)) expect(line).toMatch(/\bagtpd\b/);
      const [, state] = /^useradd .*--home-dir (\S+)/.exec(line) ?? [];
      if (state !== undefined) expect(unit).toContain(`WorkingDirectory=${state}`);
    }
    expect(unit).toContain("User=agtpd");
  });
});

describe("the TOML of the documentation", () => {
  const pages = new Set(snippets.filter(({ kind }) => kind === "toml").map(({ page }) => page));

  it.each([...pages])("is what the daemon takes: %s", async (page) => {
    expect(await checkTomlOf(page)).toEqual([]);
  });
});

function read(file: string): string {
  return readFileSync(join(ROOT, file), "utf8");
}
