/** Every check, by a deployment that it finds something in; and one in which none finds anything. */

import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CHECKS } from "../../../src/programs/doctor/command.ts";
import {
  agent,
  type Case,
  endpoint,
  makeServerCertificate,
  upstream,
  variable,
  withCertificate,
} from "../../doctor/cases/case.ts";
import { keptCases } from "../../doctor/cases/kept.ts";
import { keysCases } from "../../doctor/cases/keys.ts";
import { servedCases } from "../../doctor/cases/served.ts";
import { trustCases } from "../../doctor/cases/trust.ts";
import { type FindingJson, makePatient, type PatientOptions } from "../../support/doctor.ts";

const CASES: readonly Case[] = [...keysCases, ...trustCases, ...servedCases, ...keptCases];

describe("the doctor", () => {
  it.each(CASES)("finds $title ($id)", async ({ id, site, found }) => {
    const patient = makePatient(typeof site === "function" ? await site() : site);
    const { findings, unasked, exitCode } = await patient.examine();
    const ofCheck = findings.filter((finding) => finding.id === id);
    expect(ofCheck).toContainEqual(expect.objectContaining({ id, ...found }));
    const isSerious = findings.some(({ severity }) => severity !== "note");
    expect([exitCode, unasked]).toEqual([isSerious ? 1 : 0, []]);
    for (const { message, remedy } of findings) {
      expect(message).toMatch(/^(?:[^A-Z].*|Node\.js .*|QUERY .*)[^.]$/);
      expect(remedy).toMatch(/[^.]$/);
      expect(message + remedy).not.toContain("hunter2");
    }
  });

  it("has a deployment in this test for every check", () => {
    const ids = CHECKS.map(({ id }) => id);
    expect([...new Set(CASES.map(({ id }) => id))].toSorted()).toEqual(ids.toSorted());
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("finds nothing in a deployment that has nothing wrong", async () => {
    const site = await withCertificate(300, {
      files: {
        ...upstream({ Authorization: `Bearer ${variable("TOKEN")}` }),
        ...agent({ scopes_accepted: ["booking:room"], expires_at: "2999-01-01T00:00:00Z" }),
        "recipes/none.toml.bak": "# REVIEW: no recipe",
        "jwks.json": '{ "keys": [] }',
        ".agtp/manifest.json": "{}",
      },
      modes: { ".agtp/manifest.json": 0o600 },
      tables: {
        webhooks: { secret: variable("SECRET"), escalations: "https://ops.acme.example/" },
        apis: [{ name: "orders", base_url: "https://api.acme.example" }],
        store: { driver: "sqlite" },
        policies: { oauth: { issuer: "https://id.example", ...OWN_TOKENS } },
      },
      environment: { TOKEN: "hunter2", SECRET: "hunter2" },
    });
    const { findings, unasked, exitCode } = await makePatient(site).examine();
    expect(findings).toEqual([]);
    expect([unasked, exitCode]).toEqual([[], 0]);
  });
});

const OWN_TOKENS = { audience: "agents.acme.example", jwks_file: "jwks.json" };

async function find(id: string, site: PatientOptions): Promise<readonly FindingJson[]> {
  const { findings } = await makePatient(site).examine();
  return findings.filter((finding) => finding.id === id);
}

describe("mcp-programs", () => {
  const keysOf = async (
    servers: readonly object[],
    environment = {},
  ): Promise<readonly string[]> => {
    const named = servers.map((server, index) => ({ name: `s${index}`, ...server }));
    const found = await find("mcp-programs", {
      ...{ tables: { mcp: { servers: named } }, environment },
      files: { "bin/serve": "", "bin/read": "", "bin/deep/serve": "" },
      modes: { "bin/serve": 0o755, "bin/read": 0o644 },
    });
    return found.map(({ key }) => key);
  };

  it("finds programs as a start would: by a path, or along PATH", async () => {
    const commands = [
      "serve",
      "./bin/serve",
      "read",
      "./bin/read",
      "deep",
      "./serve",
      process.execPath,
    ];
    const servers = commands.map((command) => ({ command }));
    const missing = [2, 3, 4, 5].map((index) => `mcp.servers[${index}].command`);
    expect(await keysOf(servers, { PATH: "nowhere:bin" })).toEqual(missing);
  });

  it("has a server's own PATH and directory in place of the daemon's", async () => {
    const own = { command: "serve", env: { PATH: "." }, cwd: "bin" };
    const lost = { command: "serve", env: { PATH: "nowhere" } };
    expect(await keysOf([own, lost], { PATH: "bin" })).toEqual(["mcp.servers[1].command"]);
  });

  it("asks nothing where no PATH is known", async () => {
    expect(await keysOf([{ command: "nobody-has-this" }])).toEqual([]);
  });
});

describe("review-marks", () => {
  const marked = (text: string): PatientOptions => ({
    files: { ...endpoint(), "endpoints/facts.toml": text },
  });

  it("counts marks, wherever in the line the comment begins", async () => {
    const { "endpoints/facts.toml": text = "" } = endpoint();
    const [found] = await find(
      "review-marks",
      marked(`${text}\n#review: a\n# REVIEW : b # REVIEW: c\n`),
    );
    expect(found?.message).toMatch(/^has 2 marks for review, the first on line \d+: "a"$/);
  });

  it("takes a text that speaks of reviews for no mark", async () => {
    const site = { files: endpoint({ description: "Says # REVIEW: nothing." }) };
    expect(await find("review-marks", site)).toEqual([]);
  });

  it("finds marks in a file that is no TOML", async () => {
    const [found] = await find("review-marks", marked("[[\n# REVIEW: what was meant\n"));
    expect(found?.message).toContain('on line 2: "what was meant"');
  });

  it("finds marks in recipes", async () => {
    const files = { "recipes/r.toml": "# REVIEW: the order\n[[recipe]]\n" };
    expect((await find("review-marks", { files }))[0]?.file).toBe("recipes/r.toml");
  });
});

describe("certificate-expiry", () => {
  it("gives a short-lived certificate until a third of its life is left", async () => {
    // It lives for 110 days, so that 30 days are what counts.
    expect(await find("certificate-expiry", await withCertificate(31))).toEqual([]);
    expect(await find("certificate-expiry", await withCertificate(29))).toHaveLength(1);
  });

  it("has one finding about a bundle of authorities", async () => {
    const [over, valid] = await Promise.all([makeServerCertificate(-2), makeServerCertificate(99)]);
    const site = await withCertificate(300);
    const tls = { cert: "tls/cert.pem", key: "tls/key.pem", client_auth: "optional" };
    const found = await find("certificate-expiry", {
      ...site,
      files: { ...site.files, "tls/ca.pem": over.cert + valid.cert + over.cert },
      tables: { ...site.tables, tls: { ...tls, client_ca: "tls/ca.pem" } },
    });
    expect(found).toHaveLength(1);
    expect(found[0]?.message).toMatch(/^2 of 3 certificates: the certificate of "test" expired on/);
  });
});

describe("certificate-names", () => {
  it("takes a wildcard, and the domain instead of the server id", async () => {
    const wild = await withCertificate(300, {}, ["*.acme.example"]);
    const domain = await withCertificate(
      300,
      { tables: { server: { server_id: "agents.acme.example", domain: "acme.example" } } },
      ["acme.example"],
    );
    expect(await find("certificate-names", wild)).toEqual([]);
    expect(await find("certificate-names", domain)).toEqual([]);
  });

  it("looks for no name where the server id is none", async () => {
    const tables = { server: { server_id: "test" } };
    const site = await withCertificate(300, { tables }, ["other.example"]);
    expect(await find("certificate-names", site)).toEqual([]);
  });
});

describe("file-permissions and ownership", () => {
  it("do not follow links out of the directories that they look at", async () => {
    const patient = makePatient({ files: endpoint() });
    symlinkSync("/", join(patient.directory, "endpoints/everything"));
    const { findings, unasked } = await patient.examine();
    expect(unasked).toEqual([]);
    expect(findings.filter(({ file }) => file.includes("everything/"))).toEqual([]);
  });

  it("let the owner of the configuration be another than the daemon's user", async () => {
    const owners = { "agtp-server.toml": 4711, "endpoints/facts.toml": 4711 };
    expect(await find("ownership", { files: endpoint(), owners })).toEqual([]);
  });

  it("ask nothing where files have no owners", async () => {
    const site = { modes: { "agtp-server.toml": 0o666 }, machine: { uid: undefined } };
    expect(await find("file-permissions", site)).toEqual([]);
    expect(
      await find("key-permissions", { ...site, modes: { ".agtp/keys/signing.pem": 0o666 } }),
    ).toEqual([]);
  });
});

describe("secrets-in-files", () => {
  it("takes a database URL without a password for no secret", async () => {
    const tables = { store: { driver: "sqlite", url: "postgres://db.example/agtpd" } };
    expect(await find("secrets-in-files", { tables })).toEqual([]);
    const withPassword = { store: { driver: "sqlite", url: "postgres://a:b@db.example/agtpd" } };
    expect((await find("secrets-in-files", { tables: withPassword }))[0]?.key).toBe("store.url");
  });
});

describe("disk-space", () => {
  it("measures where the state will be, before it is there", async () => {
    const measured: string[] = [];
    const patient = makePatient({
      tables: { store: { path: "later/on/state.db" } },
      machine: {
        space: (path) => {
          measured.push(path);
          return { freeBytes: 1024 ** 4, freeFiles: undefined };
        },
      },
    });
    await patient.examine();
    expect(measured).toEqual([join(patient.directory, ".agtp"), patient.directory]);
  });
});
