import { describe, expect, it } from "vitest";
import {
  checkPostureSource,
  distrustPosture,
  type PostureSource,
  resolveTrustPosture,
  type TrustPosture,
} from "../../src/identity/trust-posture.ts";

function resolve(document: PostureSource, genesis?: PostureSource): TrustPosture {
  return resolveTrustPosture({ document, genesis });
}

// AGTP-TRUST "Trust Posture Loading"
describe("resolveTrustPosture", () => {
  it("defaults to tier 2, asserted by the organisation, with a warning", () => {
    expect(resolve({})).toEqual({
      trustTier: 2,
      verificationPath: "org-asserted",
      trustWarning: "verification-incomplete",
      ownerId: undefined,
      governanceZone: undefined,
      postureRules: {
        trustTier: "default",
        verificationPath: "default",
        trustWarning: "automatic",
        ownerId: "default",
        governanceZone: "default",
      },
    });
  });

  const FIELDS = [
    ["trust_tier", "trustTier", 1, 3, 2],
    ["verification_path", "verificationPath", "hybrid", "log-anchored", "org-asserted"],
    ["trust_warning", "trustWarning", "a", "b", "verification-incomplete"],
    ["owner_id", "ownerId", "lei:1", "lei:2", undefined],
    ["governance_zone", "governanceZone", "zone:a", "zone:b", undefined],
  ] as const;
  describe.each(FIELDS)("of %s", (key, field, own, inherited, fallback) => {
    it.each([
      [
        "the document's before the Genesis's",
        { [key]: own },
        { [key]: inherited },
        own,
        "document",
      ],
      ["the document's alone", { [key]: own }, {}, own, "document"],
      ["the Genesis's where the document has none", {}, { [key]: inherited }, inherited, "genesis"],
      ["the Genesis's for null", { [key]: null }, { [key]: inherited }, inherited, "genesis"],
      ["the Genesis's for another type", { [key]: [] }, { [key]: own }, own, "genesis"],
    ])("takes %s", (_, document, genesis, value, rule) => {
      const posture = resolve(document, genesis);
      expect(posture[field]).toBe(value);
      expect(posture.postureRules[field]).toBe(rule);
    });

    it("falls back to the default where neither says anything", () => {
      const posture = resolve({}, {});
      expect(posture[field]).toBe(fallback);
      expect(posture.postureRules[field]).toBe(field === "trustWarning" ? "automatic" : "default");
    });
  });

  it("decides field by field", () => {
    const document = { trust_tier: 1, owner_id: "lei:1" };
    const genesis = { trust_tier: 3, verification_path: "dns-anchored", owner_id: "lei:2" };
    expect(resolve(document, genesis)).toMatchObject({
      trustTier: 1,
      verificationPath: "dns-anchored",
      trustWarning: undefined,
      ownerId: "lei:1",
    });
  });

  it.each([1, 3])("warns of tier %d only when told to", (tier) => {
    const source = { trust_tier: tier, verification_path: "hybrid" };
    expect(resolve(source)).toMatchObject({
      trustWarning: undefined,
      postureRules: { trustWarning: "default" },
    });
    const warned = { ...source, trust_warning: "legal-entity-unverified" };
    expect(resolve(warned).trustWarning).toBe("legal-entity-unverified");
  });

  it("keeps a warning of one's own on tier 2", () => {
    expect(resolve({ trust_warning: "org-label-unverified" }).trustWarning).toBe(
      "org-label-unverified",
    );
  });

  it.each([
    [1, 2, "automatic"],
    [2, 2, "document"],
    [3, 3, "document"],
  ])(
    "resolves tier %d over an unknown path to tier %d, with a warning",
    (declared, resolved, rule) => {
      const source = {
        trust_tier: declared,
        verification_path: "self-signed",
        trust_warning: "own",
      };
      expect(resolve(source)).toMatchObject({
        trustTier: resolved,
        verificationPath: "org-asserted",
        trustWarning: "verification-path-unsupported",
        postureRules: {
          trustTier: rule,
          verificationPath: "automatic",
          trustWarning: "automatic",
        },
      });
    },
  );

  it("downgrades for the path of the Genesis as for the document's", () => {
    const genesis = { verification_path: "self-signed", trust_tier: 1 };
    expect(resolve({}, genesis)).toMatchObject({
      trustTier: 2,
      trustWarning: "verification-path-unsupported",
    });
    expect(resolve({ verification_path: "hybrid" }, genesis).trustTier).toBe(1);
  });
});

describe("distrustPosture", () => {
  it("leaves nothing of a source but a third tier", () => {
    const source = { verification_path: "hybrid", owner_id: "a", trust_warning: "x" };
    for (const trust_tier of [1, 2, "3", undefined]) {
      expect(distrustPosture({ ...source, trust_tier })).toEqual({});
    }
    expect(distrustPosture({ ...source, trust_tier: 3 })).toEqual({ trust_tier: 3 });
  });
});

describe("checkPostureSource", () => {
  it("accepts absent members, null ones and good ones", () => {
    expect(checkPostureSource({ trust_tier: null, owner_id: "usr-1" })).toEqual([]);
    expect(checkPostureSource({ governance_zone: "zone:Zürich 1" })).toEqual([]);
  });

  it("names every member that cannot be what it should", () => {
    const source = {
      trust_tier: 4,
      verification_path: "",
      trust_warning: "a\r\nb",
      owner_id: "a b",
      governance_zone: "zone:\u0000",
    };
    expect(checkPostureSource(source).map(({ key }) => key)).toEqual([
      "trust_tier",
      "verification_path",
      "trust_warning",
      "owner_id",
      "governance_zone",
    ]);
  });
});
