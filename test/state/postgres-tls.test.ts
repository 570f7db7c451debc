/** The way to a PostgreSQL that has a certificate: verified, or a problem at its key. */

import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { formatProblem } from "../../src/base/problem.ts";
import { openStore } from "../../src/state/open-store.ts";
import { makeDirectory } from "../support/directory.ts";
import { CA_EXTENSIONS, OpensslPki } from "../support/openssl-pki.ts";
import { describeWithPostgres, postgres } from "../support/postgres.ts";

const SERVER_EXTENSIONS = [
  "basicConstraints = critical, CA:FALSE",
  "extendedKeyUsage = serverAuth",
  "subjectAltName = DNS:localhost",
];

/** A port that is free now. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** A file that the server's user can read, and nobody else. */
function writeSecret(path: string, text: string): void {
  writeFileSync(path, text);
  chmodSync(path, 0o600);
  if (process.getuid?.() === 0) {
    const id = Number(execFileSync("id", ["-u", "nobody"], { encoding: "utf8" }));
    chownSync(path, id, id);
  }
}

async function problemsOf(url: string, ca?: string): Promise<string> {
  const location = { driver: "postgres", path: "", url, ...(ca === undefined ? {} : { ca }) };
  const { store, problems } = await openStore(
    { ...location, driver: "postgres" },
    "agtp-server.toml",
  );
  await store?.close();
  return (problems ?? []).map(formatProblem).join("\n");
}

const CLIENT_EXTENSIONS = [
  "basicConstraints = critical, CA:FALSE",
  "extendedKeyUsage = clientAuth",
];

/** Starts the server with a certificate of a CA; everything is as it was when the running test is over. */
async function startTls(rules = "") {
  const pki = new OpensslPki();
  onTestFinished(() => pki.remove());
  const directory = makeDirectory();
  const file = (name: string, text: string): string => {
    const path = join(directory, name);
    writeFileSync(path, text);
    return path;
  };
  const ca = file("ca.pem", pki.make("ca", { extensions: CA_EXTENSIONS }).cert);
  const { cert, key } = pki.make("localhost", { issuer: "ca", extensions: SERVER_EXTENSIONS });
  const secret = (name: string, text: string): string => {
    const path = join(postgres().directory, name);
    writeSecret(path, text);
    return path;
  };
  const port = await freePort();
  const plain = await postgres().makeDatabase();
  const [database] = await postgres().query("SELECT current_database() AS name", plain);
  const files = `-c ssl_cert_file=${secret("server.pem", cert)} -c ssl_key_file=${secret("server.key", key)}`;
  const asks =
    rules === ""
      ? ""
      : `-c ssl_ca_file=${secret("ca.pem", readFileSync(ca, "utf8"))} -c hba_file=${secret("hba", rules)}`;
  postgres().crash();
  onTestFinished(() => {
    postgres().crash();
    postgres().start();
  });
  postgres().start(`-c listen_addresses=127.0.0.1 -p ${port} -c ssl=on ${files} ${asks}`);
  const url = (host: string, mode: string): string =>
    `postgres://agtp@${host}:${port}/${String(database?.["name"])}${mode}`;
  return { pki, file, ca, port, url };
}

describeWithPostgres("a PostgreSQL that is reached over TLS", () => {
  it("is verified by its CA and its name, and is not talked to otherwise", async () => {
    const { pki, file, ca, port, url } = await startTls();
    const other = file("other.pem", pki.make("other", { extensions: CA_EXTENSIONS }).cert);
    expect(await problemsOf(url("localhost", "?sslmode=verify-full"), ca)).toBe("");
    expect(await problemsOf(url("localhost", ""), ca)).toBe("");
    const root = `?sslmode=require&sslrootcert=${encodeURIComponent(ca)}`;
    expect(await problemsOf(url("localhost", root))).toBe("");
    expect(await problemsOf(url("localhost", "?sslmode=disable"))).toBe("");
    expect(await problemsOf(url("localhost", "?ssl=true"), ca)).toBe("");
    expect(await problemsOf(url("localhost", "?ssl=false"))).toBe("");

    const wrongCa = await problemsOf(url("localhost", "?sslmode=verify-full"), other);
    const noCa = await problemsOf(url("localhost", "?sslmode=require"));
    const wrongName = await problemsOf(url("127.0.0.1", "?sslmode=verify-full"), ca);
    expect(await problemsOf(url("localhost", "?sslmode=disable"), ca)).toContain("store.ca: ");
    for (const text of [wrongCa, noCa]) {
      expect(text).toContain("store.ca: the server's certificate is not trusted");
    }
    expect(wrongName).toContain("store.url: the server's certificate is another's");
    for (const mode of ["?ssl=no-verify", "?sslmode=prefer"]) {
      expect(await problemsOf(url("localhost", mode))).toContain("store.url: has another sslmode");
    }
    // Other parameters take nothing of the mode away.
    const both = await problemsOf(url("localhost", "?sslmode=verify-full&ssl=false"));
    expect(both).toContain("store.ca: the server's certificate is not trusted");
    // A server without a certificate is not talked to in plain text.
    postgres().crash();
    postgres().start(`-c listen_addresses=127.0.0.1 -p ${port}`);
    expect(await problemsOf(url("localhost", "?sslmode=require"), ca)).toContain(
      "store.url: the server has no TLS, which the URL asks for",
    );
  });

  it("is shown the certificate that the URL names, and verified all the same", async () => {
    const rules = "local all all trust\nhostssl all all 127.0.0.1/32 cert\n";
    const { pki, file, ca, url } = await startTls(rules);
    const { cert, key } = pki.make("agtp", { issuer: "ca", extensions: CLIENT_EXTENSIONS });
    const names = { sslcert: file("client.pem", cert), sslkey: file("client.key", key) };
    const asked = (more: Readonly<Record<string, string>>): string =>
      url("localhost", `?${new URLSearchParams({ sslmode: "verify-full", ...more })}`);
    expect(await problemsOf(asked(names), ca)).toBe("");
    const more = { ...names, sslrootcert: ca, sslnegotiation: "direct" };
    expect(await problemsOf(asked(more))).toBe("");
    expect(await problemsOf(asked({}), ca)).toContain("certificate");
    const untrusted = await problemsOf(asked(names));
    expect(untrusted).toContain("store.ca: the server's certificate is not trusted");
    const half = await problemsOf(asked({ sslcert: names.sslcert }), ca);
    expect(half).toContain("store.url: has only one of sslcert and sslkey");
    const gone = await problemsOf(asked({ ...names, sslkey: `${names.sslkey}.gone` }), ca);
    expect(gone).toContain('client.key.gone" does not exist');
  });
});
