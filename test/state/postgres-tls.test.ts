/** The way to a PostgreSQL that has a certificate: verified, or a problem at its key. */

import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, it } from "vitest";
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

describeWithPostgres("a PostgreSQL that is reached over TLS", () => {
  it("is verified by its CA and its name, and is not talked to otherwise", async () => {
    const pki = new OpensslPki();
    const directory = makeDirectory();
    const file = (name: string, text: string): string => {
      const path = join(directory, name);
      writeFileSync(path, text);
      return path;
    };
    try {
      const ca = file("ca.pem", pki.make("ca", { extensions: CA_EXTENSIONS }).cert);
      const other = file("other.pem", pki.make("other", { extensions: CA_EXTENSIONS }).cert);
      const { cert, key } = pki.make("localhost", { issuer: "ca", extensions: SERVER_EXTENSIONS });
      const [certFile, keyFile] = [
        join(postgres().directory, "server.pem"),
        join(postgres().directory, "server.key"),
      ];
      writeSecret(certFile, cert);
      writeSecret(keyFile, key);
      const port = await freePort();
      const plain = await postgres().makeDatabase();
      const [database] = await postgres().query("SELECT current_database() AS name", plain);
      postgres().crash();
      postgres().start(
        `-c listen_addresses=127.0.0.1 -p ${port} -c ssl=on -c ssl_cert_file=${certFile} -c ssl_key_file=${keyFile}`,
      );
      const url = (host: string, mode: string): string =>
        `postgres://agtp@${host}:${port}/${String(database?.["name"])}${mode}`;
      try {
        expect(await problemsOf(url("localhost", "?sslmode=verify-full"), ca)).toBe("");
        expect(await problemsOf(url("localhost", ""), ca)).toBe("");
        const root = `?sslmode=require&sslrootcert=${encodeURIComponent(ca)}`;
        expect(await problemsOf(url("localhost", root))).toBe("");
        expect(await problemsOf(url("localhost", "?sslmode=disable"))).toBe("");

        const wrongCa = await problemsOf(url("localhost", "?sslmode=verify-full"), other);
        const noCa = await problemsOf(url("localhost", "?sslmode=require"));
        const wrongName = await problemsOf(url("127.0.0.1", "?sslmode=verify-full"), ca);
        expect(await problemsOf(url("localhost", "?sslmode=disable"), ca)).toContain("store.ca: ");
        for (const text of [wrongCa, noCa]) {
          expect(text).toContain("store.ca: the server's certificate is not trusted");
        }
        expect(wrongName).toContain("store.url: the server's certificate is another's");
        // A server without a certificate is not talked to in plain text.
        postgres().crash();
        postgres().start(`-c listen_addresses=127.0.0.1 -p ${port}`);
        expect(await problemsOf(url("localhost", "?sslmode=require"), ca)).toContain(
          "store.url: the server has no TLS, which the URL asks for",
        );
      } finally {
        postgres().crash();
        postgres().start();
      }
    } finally {
      pki.remove();
    }
  });
});
