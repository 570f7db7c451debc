import { describe, expect, it } from "vitest";
import { checkPostureSource, resolveTrustPosture } from "../../src/identity/trust-posture.ts";

describe("resolveTrustPosture", () => {
  it("defaults to tier 2, asserted by the organisation, with a warning", () => {
    expect(resolveTrustPosture([{}])).toEqual({
      trustTier: 2,
      verificationPath: "org-asserted",
      trustWarning: "verification-incomplete",
      ownerId: undefined,
    });
  });

  it("prefers the first source, field by field", () => {
    const document = { trust_tier: 1, owner_id: "lei:1" };
    const genesis = { trust_tier: 3, verification_path: "dns-anchored", owner_id: "lei:2" };
    expect(resolveTrustPosture([document, genesis])).toEqual({
      trustTier: 1,
      verificationPath: "dns-anchored",
      trustWarning: undefined,
      ownerId: "lei:1",
    });
  });

  it.each([1, 3])("warns of tier %d only when told to", (tier) => {
    const source = { trust_tier: tier, verification_path: "hybrid" };
    expect(resolveTrustPosture([source]).trustWarning).toBeUndefined();
    const warned = { ...source, trust_warning: "legal-entity-unverified" };
    expect(resolveTrustPosture([warned]).trustWarning).toBe("legal-entity-unverified");
  });

  it("keeps a warning of one's own on tier 2", () => {
    const { trustWarning } = resolveTrustPosture([{ trust_warning: "org-label-unverified" }]);
    expect(trustWarning).toBe("org-label-unverified");
  });

  it.each([
    [1, 2],
    [2, 2],
    [3, 3],
  ])("resolves tier %d over an unknown path to tier %d, with a warning", (declared, resolved) => {
    const source = { trust_tier: declared, verification_path: "self-signed" };
    expect(resolveTrustPosture([source])).toEqual({
      trustTier: resolved,
      verificationPath: "org-asserted",
      trustWarning: "verification-path-unsupported",
      ownerId: undefined,
    });
  });

  it("passes over members that are null or of another type", () => {
    const source = { trust_tier: "1", verification_path: null, trust_warning: 7, owner_id: {} };
    expect(resolveTrustPosture([source, { trust_tier: 3 }])).toMatchObject({
      trustTier: 3,
      verificationPath: "org-asserted",
      ownerId: undefined,
    });
  });
});

describe("checkPostureSource", () => {
  it("accepts absent members, null ones and good ones", () => {
    expect(checkPostureSource({ trust_tier: null, owner_id: "usr-1" })).toEqual([]);
  });

  it("names every member that cannot be what it should", () => {
    const source = {
      trust_tier: 4,
      verification_path: "",
      trust_warning: "a\r\nb",
      owner_id: "a b",
    };
    expect(checkPostureSource(source).map(({ key }) => key)).toEqual([
      "trust_tier",
      "verification_path",
      "trust_warning",
      "owner_id",
    ]);
  });
});
