import { createPrivateKey, X509Certificate } from "node:crypto";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { connect, createServer } from "node:tls";
import { describe, expect, it } from "vitest";
import { ensureCertificate, readCertificate } from "../../src/server/certificate.ts";
import { makeCertificate } from "../support/certificate.ts";
import { makeDirectory } from "../support/directory.ts";

const DAY_MS = 86_400_000;
const NOW = Date.now();

function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}

/** Connects to a server with the certificate, trusting only that certificate. */
async function canConnect(
  pair: { readonly cert: string; readonly key: string },
  host: string,
  servername: string,
): Promise<boolean> {
  const server = createServer({ ...pair, minVersion: "TLSv1.3" }, (socket) => socket.end());
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  const client = connect({ host, port, servername, ca: pair.cert, minVersion: "TLSv1.3" });
  const result = await new Promise<boolean>((resolve) => {
    client.once("secureConnect", () => resolve(client.authorized));
    client.once("error", () => resolve(false));
  });
  client.destroy();
  await new Promise((resolve) => server.close(resolve));
  return result;
}

describe("ensureCertificate", () => {
  it("makes a certificate for loopback names that clients can trust as its own CA", async () => {
    const directory = join(makeDirectory(), ".agtp", "tls");
    const made = await ensureCertificate(directory, NOW);
    const certificate = new X509Certificate(made.cert);
    expect(made.fingerprint256).toBe(certificate.fingerprint256);
    expect(certificate.subject).toBe("CN=agtpd");
    expect(certificate.ca).toBe(true);
    expect(certificate.checkHost("localhost")).toBe("localhost");
    expect(certificate.checkIP("127.0.0.1")).toBe("127.0.0.1");
    expect(certificate.checkIP("::1")).toBe("::1");
    const lifetime = Date.parse(certificate.validTo) - Date.parse(certificate.validFrom);
    expect(Math.round(lifetime / DAY_MS)).toBe(825);
    expect(createPrivateKey(made.key).asymmetricKeyDetails?.namedCurve).toBe("prime256v1");
    expect(await canConnect(made, "127.0.0.1", "localhost")).toBe(true);
    expect(await canConnect(made, "127.0.0.1", "hotel.example")).toBe(false);
  });

  it("keeps the key for its owner alone, and leaves nothing else behind", async () => {
    const directory = join(makeDirectory(), ".agtp", "tls");
    await ensureCertificate(directory, NOW);
    expect(modeOf(directory)).toBe(0o700);
    expect(modeOf(join(directory, "key.pem"))).toBe(0o600);
    expect(readdirSync(directory).toSorted()).toEqual(["cert.pem", "key.pem"]);
  });

  it("uses the same one at the next start", async () => {
    const directory = makeDirectory();
    const first = await ensureCertificate(directory, NOW);
    const second = await ensureCertificate(directory, NOW + 700 * DAY_MS);
    expect(second).toEqual(first);
  });

  it("renews a certificate with fewer than 30 days left, over the same key", async () => {
    const directory = makeDirectory();
    const first = await ensureCertificate(directory, NOW);
    const later = NOW + 796 * DAY_MS;
    const renewed = await ensureCertificate(directory, later);
    expect(renewed.key).toBe(first.key);
    expect(renewed.fingerprint256).not.toBe(first.fingerprint256);
    expect(readFileSync(join(directory, "cert.pem"), "utf8")).toBe(renewed.cert);
    expect(await ensureCertificate(directory, later)).toEqual(renewed);
  });

  it.each([
    ["key.pem", "not a key"],
    ["cert.pem", "not a certificate"],
  ])("replaces a %s that cannot be used", async (name, content) => {
    const directory = makeDirectory();
    await ensureCertificate(directory, NOW);
    writeFileSync(join(directory, name), content);
    const { cert, key } = await ensureCertificate(directory, NOW);
    expect(new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))).toBe(true);
    expect(modeOf(join(directory, "key.pem"))).toBe(0o600);
  });

  it("gives daemons that start at once the same certificate", async () => {
    const directory = makeDirectory();
    const all = await Promise.all(
      Array.from({ length: 8 }, () => ensureCertificate(directory, NOW)),
    );
    expect(new Set(all.map(({ fingerprint256 }) => fingerprint256)).size).toBe(1);
    expect(readdirSync(directory).toSorted()).toEqual(["cert.pem", "key.pem"]);
  });
});

describe("readCertificate", () => {
  async function write(
    options: Parameters<typeof makeCertificate>[0] = {},
  ): Promise<{ readonly cert: string; readonly key: string }> {
    const directory = makeDirectory();
    const made = await makeCertificate(options);
    const paths = { cert: join(directory, "cert.pem"), key: join(directory, "key.pem") };
    writeFileSync(paths.cert, made.cert);
    writeFileSync(paths.key, made.key);
    return paths;
  }

  it("reads a pair that can serve", async () => {
    const { cert, key } = await write({ names: ["hotel.example"] });
    const reading = readCertificate(cert, key);
    expect(reading).toMatchObject({ cert: readFileSync(cert, "utf8") });
    expect(reading).toHaveProperty(
      "fingerprint256",
      new X509Certificate(readFileSync(cert)).fingerprint256,
    );
  });

  it("refuses a key that is another certificate's", async () => {
    const { cert } = await write();
    const { key } = await write();
    expect(readCertificate(cert, key).problems).toEqual([
      {
        ...{ file: key, key: "", message: "is not the certificate's key" },
        hint: "name the key that the certificate was issued for in key, beside cert",
      },
    ]);
  });

  it("refuses a certificate that has expired, or is not valid yet", async () => {
    const { cert, key } = await write({
      notBefore: new Date("2026-01-01T00:00:00Z"),
      notAfter: new Date("2026-02-01T00:00:00Z"),
    });
    const messageAt = (time: string): string | undefined =>
      readCertificate(cert, key, Date.parse(time)).problems?.[0]?.message;
    expect(messageAt("2026-01-15T00:00:00Z")).toBeUndefined();
    expect(messageAt("2026-02-01T00:00:00Z")).toBe("expired on Feb  1 00:00:00 2026 GMT");
    expect(messageAt("2025-12-31T00:00:00Z")).toBe("is not valid before Jan  1 00:00:00 2026 GMT");
  });

  it("reports both files when neither can be read", () => {
    const directory = makeDirectory();
    const { problems } = readCertificate(join(directory, "c.pem"), directory);
    expect(problems?.map(({ message }) => message)).toEqual([
      "does not exist",
      "must be a file, is a directory",
    ]);
  });

  it("reports both files when neither is PEM", () => {
    const directory = makeDirectory();
    const path = join(directory, "a.pem");
    writeFileSync(path, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    expect(readCertificate(path, path).problems?.map(({ message }) => message)).toEqual([
      "must be a certificate in PEM",
      "must be a private key in PEM, not encrypted",
    ]);
  });

  it("refuses a chain whose further certificates are broken", async () => {
    const { cert, key } = await write();
    const broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    writeFileSync(cert, `${readFileSync(cert, "utf8")}\n${broken}`);
    expect(readCertificate(cert, key).problems).toEqual([
      { file: cert, key: "", message: expect.stringMatching(/^cannot serve TLS: /) },
    ]);
  });
});
