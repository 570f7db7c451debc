/** Certificates as stock OpenSSL makes them, for tests of what reads them. */
import { execFileSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AgentExtensionOid } from "../../src/identity/certificate-agent-extensions.ts";

/** A certificate and its key. */
export interface OpensslCertificate {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
  readonly der: Buffer;
  readonly x509: X509Certificate;
}

/** Lines of an extension section, such as `basicConstraints = CA:TRUE`. */
type ExtensionLines = readonly string[];

export interface CertificateOptions {
  readonly extensions?: ExtensionLines;
  /** The name of a certificate made before; none: it signs itself. */
  readonly issuer?: string;
  readonly key?: "p256" | "ed25519" | "rsa:2048" | "rsa:1024" | "rsa-pss:2048" | "secp256k1";
  readonly digest?: "md5" | "sha1" | "sha256" | "default";
  /** `YYYYMMDDHHMMSSZ` */
  readonly notBefore?: string;
  readonly notAfter?: string;
  /** Another's subject, to be mistaken for it. */
  readonly subject?: string;
  /** Further options of `openssl ca`. */
  readonly options?: readonly string[];
}

/** What a CA's certificate has. */
export const CA_EXTENSIONS: ExtensionLines = [
  "basicConstraints = critical, CA:TRUE",
  "keyUsage = critical, keyCertSign, cRLSign",
  "subjectKeyIdentifier = hash",
];

/** What a client's certificate has. */
export const CLIENT_EXTENSIONS: ExtensionLines = [
  "basicConstraints = critical, CA:FALSE",
  "keyUsage = critical, digitalSignature",
  "extendedKeyUsage = clientAuth",
  "authorityKeyIdentifier = keyid",
];

/** A critical extension whose value is these octets. */
export function critical(oid: string, value: string | Buffer): string {
  return `${oid} = critical, DER:${Buffer.from(value).toString("hex")}`;
}

/** The extensions of an Agent Certificate, critical and as plain text. */
export function agentExtensions(
  agentId: string,
  ownerId?: string,
  scopes?: string,
): ExtensionLines {
  const owner = ownerId === undefined ? [] : [critical(AgentExtensionOid["owner-id"][0], ownerId)];
  const commitment = AgentExtensionOid["authority-scope-commitment"][0];
  return [
    critical(AgentExtensionOid["agent-id"][0], agentId),
    ...owner,
    ...(scopes === undefined ? [] : [critical(commitment, scopes)]),
  ];
}

const KEY_OPTIONS = {
  p256: ["EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
  secp256k1: ["EC", "-pkeyopt", "ec_paramgen_curve:secp256k1"],
  ed25519: ["ed25519"],
  "rsa:1024": ["RSA", "-pkeyopt", "rsa_keygen_bits:1024"],
  "rsa:2048": ["RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
  "rsa-pss:2048": ["RSA-PSS", "-pkeyopt", "rsa_keygen_bits:2048"],
} as const;

/** Certificates in a directory, each under the name it was made with. */
export class OpensslPki {
  readonly #directory = mkdtempSync(join(tmpdir(), "agtpd-pki-"));

  /** Makes a key and a certificate for it. */
  make(name: string, options: CertificateOptions = {}): OpensslCertificate {
    const { key = "p256", issuer = name, subject = name } = options;
    // With its key at once: most of a process of OpenSSL is its start.
    this.#run([
      ...["req", "-new", "-newkey", ...KEY_OPTIONS[key], "-nodes", "-keyout", `${name}.key`],
      ...["-subj", `/CN=${subject}`, ...this.#out(name)],
    ]);
    this.#sign(name, issuer, options);
    return this.read(name);
  }

  /** A certificate that was made before. */
  read(name: string): OpensslCertificate {
    const cert = this.#file(`${name}.pem`);
    const x509 = new X509Certificate(cert);
    return { cert, key: this.#file(`${name}.key`), der: x509.raw, x509 };
  }

  remove(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #sign(name: string, issuer: string, options: CertificateOptions): void {
    const { extensions = CLIENT_EXTENSIONS, digest = "default" } = options;
    const { notBefore = "20200101000000Z", notAfter = "20700101000000Z" } = options;
    this.#write("index.txt", "");
    this.#write("ca.cnf", `${CA_CONFIG}\n[extensions]\n${extensions.join("\n")}\n`);
    const signer = issuer === name ? ["-selfsign"] : ["-cert", `${issuer}.pem`];
    this.#run([
      ...["ca", "-batch", "-notext", "-preserveDN", "-config", "ca.cnf"],
      ...["-extensions", "extensions", "-md", digest],
      ...["-keyfile", `${issuer}.key`, ...signer],
      ...["-startdate", notBefore, "-enddate", notAfter],
      ...["-in", `${name}.csr`, "-out", `${name}.pem`],
      ...(options.options ?? []),
    ]);
  }

  #out(name: string): readonly string[] {
    this.#write("req.cnf", "[req]\ndistinguished_name = name\n[name]\n");
    return ["-config", "req.cnf", "-out", `${name}.csr`];
  }

  #run(args: readonly string[]): void {
    execFileSync("openssl", args, { cwd: this.#directory, stdio: "pipe" });
  }

  #file(name: string): string {
    return readFileSync(join(this.#directory, name), "utf8");
  }

  #write(name: string, content: string): void {
    writeFileSync(join(this.#directory, name), content);
  }
}

const CA_CONFIG = `
[ca]
default_ca = any
[any]
database = index.txt
new_certs_dir = .
rand_serial = yes
policy = any_name
unique_subject = no
[any_name]
commonName = optional
`;
