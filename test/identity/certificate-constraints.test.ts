import { describe, expect, it } from "vitest";
import { AgentExtensionOid } from "../../src/identity/certificate-agent-extensions.ts";
import {
  checkCriticalExtensions,
  readConstraints,
} from "../../src/identity/certificate-constraints.ts";

type Standard = "basicConstraints" | "keyUsage" | "extKeyUsage";

const OIDS: Readonly<Record<Standard, string>> = {
  basicConstraints: "2.5.29.19",
  keyUsage: "2.5.29.15",
  extKeyUsage: "2.5.29.37",
};

function constraints(values: Readonly<Partial<Record<Standard, string>>>) {
  const entries = Object.entries(values).map(([name, hex]) => {
    const value = Buffer.from(hex.replaceAll(" ", ""), "hex");
    return [OIDS[name as Standard], { isCritical: true, value }] as const;
  });
  return readConstraints(new Map(entries));
}

// RFC 5280 §4.2.1.3, §4.2.1.9, §4.2.1.12
describe("readConstraints", () => {
  it("finds nothing forbidden, and no CA, without extensions", () => {
    expect(constraints({})).toEqual({
      isAuthority: false,
      pathLength: undefined,
      maySign: true,
      maySignCertificates: true,
      mayAuthenticateClients: true,
    });
  });

  it.each([
    ["30 00", false, undefined],
    ["30 03 0101ff", true, undefined],
    ["30 06 0101ff 020100", true, 0],
    ["30 07 0101ff 02020080", true, 128],
  ])("reads basicConstraints %s", (basicConstraints, isAuthority, pathLength) => {
    expect(constraints({ basicConstraints })).toMatchObject({ isAuthority, pathLength });
  });

  it.each([
    ["03 02 0780", true, false],
    ["03 02 0106", false, true],
    ["03 02 0204", false, true],
    ["03 02 0186", true, true],
    ["03 03 070080", false, false],
  ])("reads keyUsage %s", (keyUsage, maySign, maySignCertificates) => {
    expect(constraints({ keyUsage })).toMatchObject({ maySign, maySignCertificates });
  });

  it.each([
    ["30 0a 0608 2b06010505070302", true],
    ["30 0a 0608 2b06010505070301", false],
    ["30 06 0604 551d2500", true],
  ])("reads extKeyUsage %s", (extKeyUsage, mayAuthenticateClients) => {
    expect(constraints({ extKeyUsage })).toMatchObject({ mayAuthenticateClients });
  });

  it.each([
    ["basicConstraints", ""],
    ["basicConstraints", "30 03 010100"],
    ["basicConstraints", "30 03 020100"],
    ["basicConstraints", "30 06 0101ff 0201ff"],
    ["basicConstraints", "30 0a 0101ff 02050100000000"],
    ["basicConstraints", "30 09 0101ff 020100 020100"],
    ["basicConstraints", "30 00 00"],
    ["basicConstraints", "30 02 0101"],
    ["keyUsage", "03 00"],
    ["keyUsage", "03 01 00"],
    ["keyUsage", "03 02 0880"],
    ["keyUsage", "03 04 00ffffff"],
    ["keyUsage", "04 02 0780"],
    ["extKeyUsage", "30 00"],
    ["extKeyUsage", "30 02 0500"],
    ["extKeyUsage", "0608 2b06010505070302"],
  ] as const)("finds the fault in %s: %s", (name, value) => {
    expect(constraints({ [name]: value })).toEqual({ fault: `has a malformed ${name} extension` });
  });
});

describe("checkCriticalExtensions", () => {
  const check = (oid: string, role: "client" | "issuer", isCritical = true) =>
    checkCriticalExtensions(new Map([[oid, { isCritical, value: Buffer.alloc(0) }]]), role);

  it.each(["2.5.29.15", "2.5.29.17", "2.5.29.19", "2.5.29.37"])("knows %s", (oid) => {
    expect(check(oid, "client")).toBeUndefined();
    expect(check(oid, "issuer")).toBeUndefined();
  });

  it.each(["2.5.29.30", "2.5.29.32", "2.5.29.36", "2.5.29.54", "1.2.3"])(
    "does not know %s, which matters when it is critical",
    (oid) => {
      const fault = `has a critical extension that is not known here, ${oid}`;
      expect(check(oid, "client")).toEqual({ fault });
      expect(check(oid, "issuer")).toEqual({ fault });
      expect(check(oid, "client", false)).toBeUndefined();
    },
  );

  it("knows those of an agent, in an agent's certificate", () => {
    for (const oid of Object.values(AgentExtensionOid).flat()) {
      expect(check(oid, "client")).toBeUndefined();
      expect(check(oid, "issuer")).toBeDefined();
    }
  });
});
