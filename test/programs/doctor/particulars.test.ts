/** What single checks let pass, and what they do not let pass for something else. */
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Finding } from "../../../src/programs/doctor/finding.ts";
import { endpoint, makeServerCertificate, withCertificate } from "../../doctor/cases/case.ts";
import { makePatient, type PatientOptions } from "../../support/doctor.ts";

function find(id: string, site: PatientOptions): readonly Finding[] {
  return makePatient(site)
    .examine()
    .findings.filter((finding) => finding.id === id);
}

describe("review-marks", () => {
  const marked = (text: string): PatientOptions => ({
    files: { ...endpoint(), "endpoints/facts.toml": text },
  });

  it("counts marks, wherever in the line the comment begins", () => {
    const { "endpoints/facts.toml": text = "" } = endpoint();
    const [found] = find("review-marks", marked(`${text}\n#review: a\n# REVIEW : b # REVIEW: c\n`));
    expect(found?.message).toMatch(/^has 2 marks for review, the first on line \d+: "a"$/);
  });

  it("takes a text that speaks of reviews for no mark", () => {
    const site = { files: endpoint({ description: "Says # REVIEW: nothing." }) };
    expect(find("review-marks", site)).toEqual([]);
  });

  it("finds marks in a file that is no TOML", () => {
    const [found] = find("review-marks", marked("[[\n# REVIEW: what was meant\n"));
    expect(found?.message).toContain('on line 2: "what was meant"');
  });

  it("finds marks in recipes", () => {
    const files = { "recipes/r.toml": "# REVIEW: the order\n[[recipe]]\n" };
    expect(find("review-marks", { files })[0]?.file).toBe("recipes/r.toml");
  });
});

describe("certificate-expiry", () => {
  it("gives a short-lived certificate until a third of its life is left", async () => {
    // It lives for 110 days, so that 30 days are what counts.
    expect(find("certificate-expiry", await withCertificate(31))).toEqual([]);
    expect(find("certificate-expiry", await withCertificate(29))).toHaveLength(1);
  });

  it("has one finding about a bundle of authorities", async () => {
    const [over, valid] = await Promise.all([makeServerCertificate(-2), makeServerCertificate(99)]);
    const site = await withCertificate(300);
    const tls = { cert: "tls/cert.pem", key: "tls/key.pem", client_auth: "optional" };
    const found = find("certificate-expiry", {
      ...site,
      files: { ...site.files, "tls/ca.pem": over.cert + valid.cert + over.cert },
      tables: { ...site.tables, tls: { ...tls, client_ca: "tls/ca.pem" } },
    });
    expect(found).toHaveLength(1);
    expect(found[0]?.message).toMatch(/^2 of 3 certificates: .* expired on/);
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
    expect(find("certificate-names", wild)).toEqual([]);
    expect(find("certificate-names", domain)).toEqual([]);
  });

  it("looks for no name where the server id is none", async () => {
    const tables = { server: { server_id: "test" } };
    const site = await withCertificate(300, { tables }, ["other.example"]);
    expect(find("certificate-names", site)).toEqual([]);
  });
});

describe("file-permissions and ownership", () => {
  it("do not follow links out of the directories that they look at", () => {
    const patient = makePatient({ files: endpoint() });
    symlinkSync("/", join(patient.directory, "endpoints/everything"));
    const { findings, unasked } = patient.examine();
    expect(unasked).toEqual([]);
    expect(findings.filter(({ file }) => file.includes("everything/"))).toEqual([]);
  });

  it("let the owner of the configuration be another than the daemon's user", () => {
    const owners = { "agtp-server.toml": 4711, "endpoints/facts.toml": 4711 };
    expect(find("ownership", { files: endpoint(), owners })).toEqual([]);
  });

  it("ask nothing where files have no owners", () => {
    const site = { modes: { "agtp-server.toml": 0o666 }, machine: { uid: undefined } };
    expect(find("file-permissions", site)).toEqual([]);
    expect(
      find("key-permissions", { ...site, modes: { ".agtp/keys/signing.pem": 0o666 } }),
    ).toEqual([]);
  });
});

describe("secrets-in-files", () => {
  it("takes a database URL without a password for no secret", () => {
    const tables = { store: { driver: "sqlite", url: "postgres://db.example/agtpd" } };
    expect(find("secrets-in-files", { tables })).toEqual([]);
    const withPassword = { store: { driver: "sqlite", url: "postgres://a:b@db.example/agtpd" } };
    expect(find("secrets-in-files", { tables: withPassword })[0]?.key).toBe("store.url");
  });
});

describe("disk-space", () => {
  it("measures where the state will be, before it is there", () => {
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
    patient.examine();
    expect(measured).toEqual([join(patient.directory, ".agtp"), patient.directory]);
  });
});
