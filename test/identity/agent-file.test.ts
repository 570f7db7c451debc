import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatProblem, isError } from "../../src/base/problem.ts";
import type { AgentDocument } from "../../src/identity/agent-document.ts";
import { type AgentFile, readAgentFile } from "../../src/identity/agent-file.ts";
import { readGenesisFile } from "../../src/identity/genesis.ts";
import {
  agentIdOf,
  canonical,
  DOCUMENT,
  DRAFT,
  ISSUER,
  type Members,
  reordered,
  STRANGER,
  signGenesis,
  signIdentity,
  without,
} from "../support/genesis.ts";

const FILE = "agents/lauren.agent.json";
const LAUREN: Members = { ...DOCUMENT, agent_id: "ab".repeat(32) };
const TRUSTED = [ISSUER.publicKey];

function read(document: unknown, genesis?: Members): AgentFile {
  const text = typeof document === "string" ? document : JSON.stringify(document);
  if (genesis === undefined) return readAgentFile(text, FILE, { trustedIssuers: TRUSTED });
  const born = readGenesisFile(JSON.stringify(genesis), "agents/lauren.genesis.json", TRUSTED);
  return readAgentFile(text, FILE, { genesis: born.genesis, trustedIssuers: TRUSTED });
}

function load(document: unknown, genesis?: Members): AgentDocument {
  const { document: loaded, problems } = read(document, genesis);
  expect(problems.filter(isError)).toEqual([]);
  return loaded!;
}

/** What is wrong with a document, without the name of its file. */
function problemsOf(document: unknown, genesis?: Members): readonly string[] {
  const { document: loaded, problems } = read(document, genesis);
  expect(loaded === undefined).toBe(problems.some(isError));
  return problems.map((problem) => formatProblem(problem).replace(`${FILE}: `, ""));
}

describe("readAgentFile", () => {
  it("reads a document of the drafts", () => {
    expect(load(LAUREN)).toEqual({
      agentId: "ab".repeat(32),
      name: "lauren",
      description: "Answers guests at the front desk.",
      principal: "Harbour Hotel",
      principalId: "harbour-hotel.example",
      ownerId: undefined,
      governanceZone: undefined,
      status: "active",
      scopes: ["booking:room", "documents:*"],
      trustTier: 2,
      verificationPath: "org-asserted",
      trustWarning: "verification-incomplete",
      postureRules: {
        trustTier: "default",
        verificationPath: "default",
        trustWarning: "automatic",
        ownerId: "default",
        governanceZone: "default",
      },
      certFingerprint: undefined,
      genesis: undefined,
      signature: "none",
      document: LAUREN,
      file: FILE,
    });
  });

  it.each(Object.keys(LAUREN).filter((key) => key !== "scopes_accepted"))(
    "requires %s, as a text",
    (key) => {
      expect(problemsOf({ ...LAUREN, [key]: undefined })).toEqual([`${key}: is required`]);
      expect(problemsOf({ ...LAUREN, [key]: null })).toEqual([`${key}: is required`]);
      expect(problemsOf({ ...LAUREN, [key]: 7 })).toEqual([`${key}: must be a string, got 7`]);
      expect(problemsOf({ ...LAUREN, [key]: " " })).toEqual([`${key}: must not be empty`]);
    },
  );

  it("collects every problem of a document", () => {
    expect(problemsOf({})).toHaveLength(9);
  });

  it.each([
    ["active", "active"],
    ["Active", "active"],
    ["SUSPENDED", "suspended"],
    ["retired", "retired"],
    ["revoked", "retired"],
    ["deprecated", "deprecated"],
  ])("reads the status %s as %s", (status, expected) => {
    expect(load({ ...LAUREN, status }).status).toBe(expected);
  });

  it.each(["2016-12-31", "2016-12-31T23:59", "2016-12-31T23:59:60Z", "2017-01-01T00:59:60+01:00"])(
    "takes %s for the time of its issue",
    (issued_at) => {
      expect(problemsOf({ ...LAUREN, issued_at })).toEqual([]);
    },
  );

  it("holds requires.scopes, where the document has it, instead of scopes_accepted", () => {
    const scopesOf = (requires: unknown): readonly string[] => load({ ...LAUREN, requires }).scopes;
    expect(scopesOf({ scopes: ["a:b", "a:b"] })).toEqual(["a:b"]);
    expect(scopesOf({ scopes: [] })).toEqual([]);
    expect(scopesOf({ methods: ["QUERY"] })).toEqual(LAUREN["scopes_accepted"]);
    expect(scopesOf({ scopes: null })).toEqual(LAUREN["scopes_accepted"]);
    expect(scopesOf(null)).toEqual(LAUREN["scopes_accepted"]);
  });

  const WRONG: readonly (readonly [Members, string | RegExp])[] = [
    [
      { status: "asleep" },
      'status: must be active, suspended, retired or deprecated, got "asleep"',
    ],
    [{ issued_at: "yesterday" }, 'issued_at: must be an ISO 8601 time, got "yesterday"'],
    [{ issued_at: "2026-13-45" }, 'issued_at: must be an ISO 8601 time, got "2026-13-45"'],
    [{ issued_at: "2026-02-30" }, 'issued_at: must be an ISO 8601 time, got "2026-02-30"'],
    [
      { scopes_accepted: ["a:b", "room"] },
      'scopes_accepted[1]: must be a scope token like "booking:room", got "room"',
    ],
    [{ scopes_accepted: "a:b" }, 'scopes_accepted: must be an array of scope tokens, got "a:b"'],
    [
      { requires: { scopes: [7] } },
      'requires.scopes[0]: must be a scope token like "booking:room", got 7',
    ],
    [{ requires: [] }, "requires: must be an object, got an array"],
    [{ trust_tier: 0 }, "trust_tier: must be 1, 2 or 3, got 0"],
    [{ owner_id: "a b" }, /^owner_id: must be 1 to 256 letters.* got "a b"$/],
    [{ governance_zone: 7 }, "governance_zone: must be a text of 1 to 256 characters, got 7"],
    [{ agent_id: "AB".repeat(32) }, /^agent_id: must be 64 lower-case hex characters/],
  ];
  it.each(WRONG)("refuses a document with %j", (members, expected) => {
    expect(problemsOf({ ...LAUREN, ...members })).toEqual([
      typeof expected === "string" ? expected : expect.stringMatching(expected),
    ]);
  });

  it.each(["null", "[]", '"text"', "7"])("refuses %s, which is no object", (text) => {
    expect(problemsOf(text)).toEqual(["must be a JSON object"]);
  });

  it("refuses what is no JSON, what nests too deep, and a reach for the prototype", () => {
    expect(problemsOf("{")).toEqual([expect.stringMatching(/^must be JSON: /)]);
    expect(problemsOf("[".repeat(100_000))).toEqual([expect.stringMatching(/^must be JSON: /)]);
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    expect(problemsOf(deep)).toEqual(["must not be nested deeper than 32 levels"]);
    const polluting = JSON.stringify({ ...LAUREN, a: "A" }).replace('"a"', '"__proto__"');
    expect(problemsOf(polluting)).toEqual(['must have no member "__proto__"']);
    const twice = JSON.stringify(LAUREN).replace("{", '{"name":"max",');
    expect(problemsOf(twice)).toEqual(['must not have the member "name" twice in one object']);
  });

  it("keeps and freezes members that it does not know", () => {
    const extended = { ...LAUREN, skills: [{ name: "booking" }] };
    const { document } = load(extended);
    expect(document).toEqual(extended);
    expect(Object.isFrozen(document["skills"])).toBe(true);
  });

  it("never throws, whatever the members are", () => {
    const names = ["requires", "trust_tier", "owner_id", "cert_fingerprint", "governance_zone"];
    const signature = ["manifest_issuer", "manifest_issuer_public_key", "manifest_signature"];
    const keys = fc.constantFrom(...Object.keys(LAUREN), ...names, ...signature);
    fc.assert(
      fc.property(fc.dictionary(keys, fc.jsonValue()), fc.boolean(), (members, isSigned) => {
        problemsOf({ ...(isSigned ? signIdentity(LAUREN) : LAUREN), ...members });
      }),
      { numRuns: 300 },
    );
  });
});

describe("readAgentFile, of a certificate's fingerprint,", () => {
  const digits = "0123456789abcdef".repeat(4);
  const pairs = digits.match(/../g)!.join(":");

  it.each([
    digits,
    digits.toUpperCase(),
    pairs,
    `sha256:${pairs.toUpperCase()}`,
    `SHA256:${digits}`,
  ])("reads %s", (cert_fingerprint) => {
    expect(load({ ...LAUREN, cert_fingerprint }).certFingerprint).toBe(digits);
  });

  it.each([
    ["", "must not be empty"],
    [7, "must be a string, got 7"],
    [digits.slice(2), `must be a SHA-256 in hex, got "${digits.slice(2)}"`],
    [`${pairs}:`, expect.stringContaining("must be a SHA-256 in hex")],
    [`sha1:${digits}`, expect.stringContaining("must be a SHA-256 in hex")],
    [`${digits.slice(1)}g`, expect.stringContaining("must be a SHA-256 in hex")],
  ])("refuses %j", (cert_fingerprint, message) => {
    const { document, problems } = read({ ...LAUREN, cert_fingerprint });
    expect(document).toBeUndefined();
    expect(problems).toEqual([{ file: FILE, key: "cert_fingerprint", message }]);
  });
});

// AGTP "Identity Document Signature"
describe("readAgentFile, of a signed document,", () => {
  const ALTERED =
    "manifest_signature: does not verify: the document was altered, or signed with another key than its manifest_issuer_public_key " +
    "(what an agent holds is changed by its issuer alone: agtp-keys genesis --force makes both files anew)";

  it("takes it as its trusted issuer wrote it, in any order", () => {
    const signed = signIdentity({ ...LAUREN, trust_tier: 1, cert_fingerprint: "ab".repeat(32) });
    fc.assert(
      fc.property(reordered(signed), (shuffled) => {
        expect(load(shuffled)).toMatchObject({
          signature: "trusted",
          trustTier: 1,
          scopes: LAUREN["scopes_accepted"],
          certFingerprint: "ab".repeat(32),
        });
      }),
      { numRuns: 20 },
    );
  });

  it("takes the issuer's key in PEM", () => {
    const octets = { ...LAUREN, name: "Łauren" };
    expect(load(signIdentity(octets)).signature).toBe("trusted");
    const inPem = signIdentity(octets, { ...ISSUER, text: ISSUER.pem });
    expect(load(inPem).signature).toBe("trusted");
  });

  it("does not serve it with any byte flipped", () => {
    const bytes = Buffer.from(canonical(signIdentity(LAUREN)));
    for (let at = 0; at < bytes.length; at += 1) {
      const flipped = Buffer.from(bytes);
      flipped[at]! ^= 1 << (at % 7);
      const { document } = read(flipped.toString("utf8"));
      expect(document, `byte ${at}`).toBeUndefined();
    }
  });

  it("names the check that fails", () => {
    const signed = signIdentity(LAUREN);
    expect(problemsOf({ ...signed, scopes_accepted: ["*:*"] })).toEqual([ALTERED]);
    expect(problemsOf({ ...signed, more: 1 })).toEqual([ALTERED]);
    const otherKey = { ...signed, manifest_issuer_public_key: STRANGER.text };
    expect(problemsOf(otherKey)).toEqual([ALTERED]);
    expect(problemsOf({ ...signed, manifest_issuer: "https://mallory.example" })).toEqual([
      ALTERED,
    ]);
    expect(problemsOf({ ...signed, manifest_issuer_public_key: "x" })).toEqual([
      "manifest_issuer_public_key: must be an Ed25519 public key, PEM or base64url",
    ]);
  });

  it("does not serve it with a part of the signature taken away", () => {
    const signed = signIdentity(LAUREN);
    const key = "manifest_issuer_public_key";
    expect(problemsOf(without(signed, "manifest_signature"))).toEqual([
      `manifest_signature: is required beside manifest_issuer, ${key}`,
    ]);
    expect(problemsOf(without(signed, key))).toEqual([
      `${key}: is required beside manifest_issuer, manifest_signature`,
    ]);
    expect(problemsOf(without(signed, "manifest_issuer"))).toEqual([
      `manifest_issuer: is required beside ${key}, manifest_signature`,
      ALTERED,
    ]);
    expect(problemsOf(without(signed, key, "manifest_signature"))).toHaveLength(2);
    const cleared = { ...signed, manifest_signature: null };
    expect(problemsOf(cleared)).toHaveLength(1);
  });

  it("grants nothing on the word of an issuer that nobody trusts, and says so", () => {
    const claims = {
      ...LAUREN,
      trust_tier: 1,
      verification_path: "dns-anchored",
      trust_warning: "none",
      owner_id: "acme.example",
      governance_zone: "zone:a",
      cert_fingerprint: "ab".repeat(32),
    };
    const { document, problems } = read(signIdentity(claims, STRANGER));
    expect(document).toMatchObject({
      signature: "untrusted",
      scopes: [],
      trustTier: 2,
      verificationPath: "org-asserted",
      trustWarning: "verification-incomplete",
      ownerId: undefined,
      governanceZone: undefined,
      certFingerprint: undefined,
    });
    expect(problems).toEqual([
      {
        file: FILE,
        key: "manifest_issuer_public_key",
        message: expect.stringContaining("policies.identity.trusted_issuers"),
        severity: "warning",
      },
    ]);
  });

  it("does not lift the third tier of such a document to the default", () => {
    expect(load(signIdentity({ ...LAUREN, trust_tier: 3 }, STRANGER)).trustTier).toBe(3);
  });
});

// AGTP-TRUST "Trust Posture Loading"
describe("readAgentFile, beside a Genesis,", () => {
  const posture: Members = { trust_tier: 1, verification_path: "hybrid", trust_warning: "own" };
  const genesis = signGenesis({ ...DRAFT, ...posture });
  const born: Members = { ...DOCUMENT, agent_id: genesis["agent_id"] };

  it("inherits what it does not say itself", () => {
    expect(load(born, genesis)).toMatchObject({
      agentId: genesis["agent_id"],
      trustTier: 1,
      verificationPath: "hybrid",
      trustWarning: "own",
      ownerId: "acme.example",
      governanceZone: "zone:eu-west",
      postureRules: {
        trustTier: "genesis",
        verificationPath: "genesis",
        trustWarning: "genesis",
        ownerId: "genesis",
        governanceZone: "genesis",
      },
    });
  });

  it("says what it says itself", () => {
    const own = { trust_tier: 3, owner_id: "lei:1", governance_zone: "zone:b" };
    expect(load({ ...born, ...own }, genesis)).toMatchObject({
      trustTier: 3,
      verificationPath: "hybrid",
      ownerId: "lei:1",
      governanceZone: "zone:b",
      postureRules: { trustTier: "document", verificationPath: "genesis", ownerId: "document" },
    });
  });

  it("has to be of the same agent", () => {
    const other = "ab".repeat(32);
    expect(problemsOf({ ...born, agent_id: other }, genesis)).toEqual([
      `agent_id: must be "${String(genesis["agent_id"])}", the hash of agents/lauren.genesis.json, got "${other}"`,
    ]);
  });

  it("inherits nothing from one whose issuer nobody trusts, and keeps its own word", () => {
    const foreign = { ...DRAFT, ...posture, issuer_public_key: STRANGER.text };
    const document = { ...DOCUMENT, agent_id: agentIdOf(foreign), owner_id: "acme.example" };
    expect(load(document, signGenesis(foreign, STRANGER))).toMatchObject({
      genesis: { isTrusted: false },
      scopes: DOCUMENT["scopes_accepted"],
      trustTier: 2,
      verificationPath: "org-asserted",
      trustWarning: "verification-incomplete",
      ownerId: "acme.example",
      governanceZone: undefined,
    });
  });

  it("inherits from a trusted Genesis what an untrusted signature cannot say", () => {
    const signed = signIdentity({ ...born, trust_tier: 2, owner_id: "mallory.example" }, STRANGER);
    expect(load(signed, genesis)).toMatchObject({
      scopes: [],
      trustTier: 1,
      ownerId: "acme.example",
      postureRules: { trustTier: "genesis", ownerId: "genesis" },
    });
  });
});
