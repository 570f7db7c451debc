import { describe, expect, it } from "vitest";
import type { ClientCertificate } from "../../../src/identity/client-certificate.ts";
import {
  CertificateRegister,
  normalizeSerial,
} from "../../../src/state/registers/certificate-register.ts";
import { makeLastingStore } from "../../support/state.ts";

const ALICE = "a".repeat(64);
const BOB = "b".repeat(64);
const REVOCATION = {
  serial: "1f",
  agentId: ALICE,
  reason: "key-compromise",
  revokedAt: "2026-05-01T09:00:00Z",
};

function makeCertificate(serialNumber: string): ClientCertificate {
  const fingerprint = "f".repeat(64);
  return {
    ...{ serialNumber, fingerprint, keyFingerprint: fingerprint, spkiFingerprint: fingerprint },
    ...{ notAfter: Number.POSITIVE_INFINITY, agent: undefined },
  };
}

describe("normalizeSerial", () => {
  it.each([
    ["1F", "1f"],
    ["0x1F", "1f"],
    ["00:1F:AB", "1fab"],
    ["0001", "1"],
    ["0", "0"],
    ["00", "0"],
    ["f".repeat(40), "f".repeat(40)],
  ])("reads %s as %s", (written, serial) => {
    expect(normalizeSerial(written)).toBe(serial);
  });

  it.each(["", "0x", ":", "1g", "-1", "1 2", "f".repeat(41), "1\n"])("refuses %j", (written) => {
    expect(normalizeSerial(written)).toBeUndefined();
  });
});

// AGTP-CERT "Revocation"
describe("CertificateRegister", () => {
  it("knows a revocation by serial and agent", async () => {
    const register = await CertificateRegister.open(makeLastingStore());
    expect(register.isRevoked(makeCertificate("1f"), ALICE)).toBe(false);
    await register.revoke(REVOCATION);
    expect(register.isRevoked(makeCertificate("1f"), ALICE)).toBe(true);
    expect(register.isRevoked(makeCertificate("1f"), BOB)).toBe(false);
    expect(register.isRevoked(makeCertificate("1e"), ALICE)).toBe(false);
  });

  it("revokes at once, however slow the disk is", async () => {
    const register = await CertificateRegister.open(makeLastingStore());
    const revoked = register.revoke(REVOCATION);
    expect(register.isRevoked(makeCertificate("1f"), ALICE)).toBe(true);
    await revoked;
  });

  it("remembers it over a restart, as it was announced first", async () => {
    const store = makeLastingStore();
    const first = await CertificateRegister.open(store);
    await first.revoke(REVOCATION);
    await first.revoke({ ...REVOCATION, reason: "again" });
    const second = await CertificateRegister.open(store);
    expect(second.isRevoked(makeCertificate("1f"), ALICE)).toBe(true);
    expect(await store.list("revoked-certificates")).toMatchObject([
      {
        key: `${ALICE}/1f`,
        value: { reason: "key-compromise", revoked_at: "2026-05-01T09:00:00Z" },
      },
    ]);
  });

  it("stores what it could not store the first time", async () => {
    const store = makeLastingStore();
    const register = await CertificateRegister.open(store);
    store.fault = new Error("the disk is full");
    await expect(register.revoke(REVOCATION)).rejects.toThrow("the disk is full");
    expect(register.isRevoked(makeCertificate("1f"), ALICE)).toBe(true);
    store.fault = undefined;
    await register.revoke(REVOCATION);
    const next = await CertificateRegister.open(store);
    expect(next.isRevoked(makeCertificate("1f"), ALICE)).toBe(true);
  });
});
