/** What the documents say is what the code does: statuses, refusal codes, programs, transcripts. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { GATE_NAMES } from "../src/dispatch/gates/gate.ts";
import { STATUS_TEXT } from "../src/wire/message.ts";
import { ROOT, readModules } from "./support/source-tree.ts";

const readme = read("README.md");
const statuses = read("docs/reference/statuses.md");
const programs = read("docs/reference/programs.md");
const architecture = read("docs/architecture.md");

function read(file: string): string {
  return readFileSync(join(ROOT, file), "utf8");
}

interface StatusRow {
  readonly status: number;
  readonly text: string;
  readonly codes: readonly string[];
}

const rows: readonly StatusRow[] = [
  ...statuses.matchAll(/^\| (\d{3}) \| ([^|]+) \| ([^|]*) \| [^|]+ \|$/gm),
].map(([, status, text = "", codes = ""]) => ({
  status: Number(status),
  text: text.trim(),
  codes: [...codes.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code),
}));

/** The closed unions of codes, read from their declarations. */
function codesOf(file: string, type: string): readonly string[] {
  const declaration = new RegExp(`\\btype ${type} =([^;]*);`).exec(read(file))?.[1] ?? "";
  return [...declaration.matchAll(/"([^"]+)"/g)].map(([, code = ""]) => code);
}

const UNIONS = ["RefusalCode", "UnauthenticatedCode", "RejectionReason", "NoContractReason"];

/** A rejected proposal and a contract that cannot be had have a reason in common. */
const refusalCodes = [
  ...new Set(UNIONS.flatMap((union) => codesOf("src/dispatch/refusals/refusal-code.ts", union))),
];
const faultCodes = codesOf("src/wire/message.ts", "WireFaultCode");

describe("the table of statuses", () => {
  it("has the statuses of the server, each with its text", () => {
    expect(Object.fromEntries(rows.map(({ status, text }) => [status, text]))).toEqual(STATUS_TEXT);
  });

  it("names every code that a refusal may have, and no other", () => {
    const named = rows.flatMap(({ codes }) => codes);
    const shared = named.filter((code, index) => named.indexOf(code) !== index);
    expect(shared).toEqual(["composition-impossible"]);
    expect([...new Set(named)].toSorted()).toEqual([...refusalCodes, ...faultCodes].toSorted());
    expect(refusalCodes.length).toBeGreaterThan(10);
  });
});

describe("the list of programs", () => {
  it("is that of the package", () => {
    const { bin } = JSON.parse(read("package.json")) as { readonly bin: object };
    const listed = [...programs.matchAll(/^\|(.*)\|$/gm)].map(([row]) => row).join("\n");
    const named = [...listed.matchAll(/`(agtp[a-z-]*)/g)].map(([, name = ""]) => name);
    expect([...new Set(named)].toSorted()).toEqual(Object.keys(bin).toSorted());
  });

  it("names scripts of package.json", () => {
    const { scripts } = JSON.parse(read("package.json")) as { readonly scripts: object };
    const called = /`npm (?:run )?([a-z]+)`/g;
    const named = [...programs.matchAll(called)].map(([, name = ""]) => name);
    expect(named.length).toBeGreaterThan(3);
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(named));
  });
});

describe("the README", () => {
  it("stays at one page", () => {
    expect(readme.trimEnd().split("\n").length).toBeLessThanOrEqual(125);
  });

  it("has both commands", () => {
    expect(readme).toContain("npm ci && npm start");
    expect(readme).toContain("npm ci && npm test");
  });

  it("names programs that exist", () => {
    const named = [...readme.matchAll(/dist\/tools\/([a-z-]+)\.js/g)].map(([, name]) => name);
    expect(named.length).toBeGreaterThan(0);
    for (const name of named)
      expect(existsSync(join(ROOT, "tools", `${name}.ts`)), name).toBe(true);
  });

  it("shows an endpoint file of the sample, whole", () => {
    const [, shown] = /```toml\n([\s\S]*?)```/.exec(readme) ?? [];
    expect(shown).toBe(read("endpoints/reservations/query-reservation.toml"));
  });

  it("calls as the agent of the sample", () => {
    const { agent_id: concierge } = JSON.parse(read("agents/concierge.agent.json"));
    const named = [...readme.matchAll(/--agent-id (\w{64})/g)].map(([, id]) => id);
    expect(new Set(named)).toEqual(new Set([concierge]));
    expect(read("tools/start.ts")).toContain(concierge);
  });

  it("draws every gate of the pipeline", () => {
    for (const [position, name] of GATE_NAMES.entries()) {
      const number = String(position).padStart(2, "0");
      expect(readme).toMatch(new RegExp(`\\b${number} ${name}\\b`));
    }
  });
});

describe("the page about architecture", () => {
  /** In the order in which the page lists them. */
  const layers = [...architecture.matchAll(/^ {2}([a-z]+)\/ {2,}\S/gm)].map(
    ([, name = ""]) => name,
  );

  it("lists the folders of src, each after those that it imports", () => {
    const folders = readdirSync(join(ROOT, "src"), { withFileTypes: true });
    const names = folders.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    expect(layers.toSorted()).toEqual(names.toSorted());
    const upward = readModules("src").flatMap(({ file, folder, imports }) =>
      imports
        .map((one) => one.file?.split("/")[1] ?? "")
        .filter((name) => layers.indexOf(name) > layers.indexOf(folder))
        .filter(() => folder !== "")
        .map((name) => `${file} -> ${name}`),
    );
    expect(upward).toEqual([]);
  });

  it.each(["docs/architecture.md", "CONTRIBUTING.md"])("names files that exist: %s", (page) => {
    const named = [...read(page).matchAll(/[` ]((?:src|test|docs|endpoints|catalog)\/[\w./-]+)/g)];
    const files = named.map(([, file = ""]) => file).filter((file) => !file.includes("NN-"));
    expect(files.length).toBeGreaterThan(10);
    expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });
});

describe("continuous integration", () => {
  it("runs what a contributor runs, on every Node that is named", () => {
    const workflow = read(".github/workflows/ci.yml");
    expect(workflow).toContain("node: [20, 22, 24, 26]");
    for (const command of ["npm ci", "npm test", "npm run conformance"]) {
      expect(workflow).toContain(`- run: ${command}\n`);
    }
  });
});

describe("the golden exchanges", () => {
  const names = readdirSync(join(ROOT, "test/exchanges")).filter((name) => name.endsWith(".agtp"));
  const texts = names.map((name) => readFileSync(join(ROOT, "test/exchanges", name), "utf8"));

  it("are named after the status that they are about", () => {
    for (const [index, name] of names.entries()) {
      expect(texts[index], name).toContain(`AGTP/1.0 ${name.slice(0, 3)} `);
    }
  });

  it("show every code that a request alone can bring about", () => {
    // A slow peer, a client certificate, a full disk, a crash, a fault and the id of a contract that
    // was made a moment ago need more than a request; so do decisions, nonces and what has expired.
    // Only MCP has a requestState.
    const elsewhere = [
      ...["request-timeout", "attribution-unavailable", "inspect-forbidden", "zone-violation"],
      ...["store-unavailable", "outcome-unknown", "record-archived", "record-removed"],
      ...["lifecycle-forbidden", "certificate-invalid", "certificate-mismatch"],
      ...["certificate-required", "certificate-revoked"],
      ...["idempotency-key-in-use", "idempotency-outcome-unknown", "synthesis-error"],
      ...["confirmation-forbidden", "decision-conflict", "nonce-reused", "session-expired"],
      ...["approval-rejected", "approval-used", "approval-expired", "approval-elsewhere"],
      ...["contract-mismatch", "contract-forbidden", "contract-not-yours", "contract-revoked"],
      "request-state-invalid",
    ];
    const shown = [...refusalCodes, ...faultCodes].filter((code) =>
      texts.some((text) => text.includes(`"code": "${code}"`)),
    );
    const expected = [...refusalCodes, ...faultCodes].filter((code) => !elsewhere.includes(code));
    expect(shown.toSorted()).toEqual(expected.toSorted());
  });
});
