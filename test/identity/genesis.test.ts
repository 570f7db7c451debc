import { generateKeyPairSync } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatProblem, isError } from "../../src/base/problem.ts";
import { type Genesis, type GenesisFile, readGenesisFile } from "../../src/identity/genesis.ts";
import {
  AGENT,
  agentIdOf,
  canonical,
  DRAFT,
  ISSUER,
  keyOf,
  type Members,
  REFERENCE,
  reordered,
  STRANGER,
  signGenesis,
  without,
} from "../support/genesis.ts";

const FILE = "agents/lauren.genesis.json";

function read(genesis: unknown): GenesisFile {
  const text = typeof genesis === "string" ? genesis : JSON.stringify(genesis);
  return readGenesisFile(text, FILE, [ISSUER.publicKey]);
}

function load(genesis: unknown): Genesis {
  const { genesis: loaded, problems } = read(genesis);
  expect(problems).toEqual([]);
  return loaded!;
}

/** What is wrong with a Genesis, without the name of its file. */
function problemsOf(genesis: unknown): readonly string[] {
  const { genesis: loaded, problems } = read(genesis);
  expect(loaded === undefined).toBe(problems.some(isError));
  return problems.map((problem) => formatProblem(problem).replace(`${FILE}: `, ""));
}

const ALTERED =
  "signature: does not verify: the Genesis was altered, or signed with another key than its issuer_public_key";

describe("readGenesisFile", () => {
  it("reads a Genesis of the drafts", () => {
    const signed = signGenesis(DRAFT);
    const genesis = load(signed);
    expect(genesis).toEqual({
      agentId: agentIdOf(DRAFT),
      issuerKey: expect.objectContaining({ text: ISSUER.text }),
      agentKey: undefined,
      ownerId: "acme.example",
      isTrusted: true,
      canonical: Buffer.from(canonical(signed)),
      document: signed,
      file: FILE,
    });
  });

  it("reads a Genesis in the reference's style, with keys in PEM and no Agent-ID", () => {
    const genesis = load(without(signGenesis(REFERENCE), "agent_id"));
    expect(genesis.agentId).toBe(agentIdOf(REFERENCE));
    expect(genesis.issuerKey.text).toBe(ISSUER.text);
    expect(genesis.agentKey?.fingerprint).toBe(AGENT.publicKey.fingerprint);
    expect(genesis.ownerId).toBe("acme.example");
  });

  it("knows the reference's style without its version, by the agent's key and no scope", () => {
    load(signGenesis(without(REFERENCE, "agtp_genesis_version")));
  });

  it.each([
    ["the drafts' with PEM keys", DRAFT, { issuer_public_key: ISSUER.pem }],
    ["the drafts' with a key of the agent", DRAFT, { agent_public_key: AGENT.text }],
    ["the reference's with base64url keys", REFERENCE, { issuer_public_key: ISSUER.text }],
    ["the drafts' with owner_id", without(DRAFT, "owner"), { owner_id: "acme.example" }],
    ["the drafts' with the header's scope list", DRAFT, { scope: "booking:room, a:b" }],
  ])("reads %s", (_, base, members) => {
    expect(load(signGenesis({ ...base, ...members })).ownerId).toBe("acme.example");
  });

  it("keeps members that it does not know, under hash and signature", () => {
    const extended = { ...DRAFT, package_ref: { name: "x", sizes: [1, 2.5] } };
    const { document, agentId } = load(signGenesis(extended));
    expect(document["package_ref"]).toEqual(extended.package_ref);
    expect(agentId).not.toBe(agentIdOf(DRAFT));
    expect(problemsOf({ ...signGenesis(extended), package_ref: {} })).toHaveLength(2);
  });

  it("leaves the log's proof out of hash and signature, and sends it", () => {
    const proven = { ...signGenesis(DRAFT), log_inclusion_proof: { leaf: 7 } };
    const genesis = load(proven);
    expect(genesis.agentId).toBe(agentIdOf(DRAFT));
    expect(String(genesis.canonical)).toBe(canonical(proven));
  });

  it("has no owner where the drafts' owner cannot be an Owner-ID", () => {
    expect(load(signGenesis({ ...DRAFT, owner: "Acme Retail" })).ownerId).toBeUndefined();
  });

  it("reads names in any script", () => {
    const named = { ...DRAFT, name: "Łauren 東京 \u{1F3E8}", ключ: "é" };
    expect(load(signGenesis(named)).agentId).toBe(agentIdOf(named));
  });

  // AGTP-API §5.8.1
  it("derives one Agent-ID and one canonical form, whatever the order and the white space", () => {
    const signed = signGenesis({ ...DRAFT, nested: { b: [{ d: 1, c: 2 }], a: null } });
    const expected = load(signed);
    fc.assert(
      fc.property(reordered(signed), fc.constantFrom(0, 1, "\t"), (shuffled, space) => {
        const genesis = load(JSON.stringify(shuffled, undefined, space));
        expect(genesis.agentId).toBe(expected.agentId);
        expect(String(genesis.canonical)).toBe(String(expected.canonical));
      }),
      { numRuns: 50 },
    );
  });

  it("gives a canonical form that loads as itself", () => {
    const genesis = load(JSON.stringify(signGenesis(REFERENCE), undefined, 2));
    const again = load(String(genesis.canonical));
    expect(again.agentId).toBe(genesis.agentId);
    expect(String(again.canonical)).toBe(String(genesis.canonical));
  });

  it("hashes and canonicalizes any members as another implementation does", () => {
    const name = fc
      .string({ minLength: 1, unit: "grapheme" })
      .filter((text) => text !== "__proto__");
    const value = fc.oneof(fc.string({ unit: "grapheme" }), fc.integer(), fc.boolean());
    const members = fc.dictionary(name, fc.oneof(value, fc.array(value)), {
      noNullPrototype: true,
    });
    fc.assert(
      fc.property(members, (more) => {
        const unsigned = { ...more, ...DRAFT };
        const signed = signGenesis(unsigned);
        const { genesis } = read(signed);
        if (genesis === undefined) return;
        expect(genesis.agentId).toBe(agentIdOf(unsigned));
        expect(String(genesis.canonical)).toBe(canonical(signed));
      }),
      { numRuns: 100 },
    );
  });
});

describe("readGenesisFile, of a Genesis that is not what was signed,", () => {
  const signed = signGenesis(DRAFT);
  const { agentId } = load(signed);

  it("never loads it under the same Agent-ID, whichever byte was flipped", () => {
    const bytes = Buffer.from(canonical(signed));
    for (let at = 0; at < bytes.length; at += 1) {
      const flipped = Buffer.from(bytes);
      flipped[at]! ^= 1 << (at % 7);
      const { genesis } = read(flipped.toString("utf8"));
      expect(genesis?.agentId, `byte ${at}`).not.toBe(agentId);
    }
  });

  it("takes no other spelling of the signature's last digit, which has bits to spare", () => {
    const last = String(signed["signature"]).slice(0, -1);
    const spellings = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"];
    const taken = spellings.filter((digit) => read({ ...signed, signature: last + digit }).genesis);
    expect(last + taken.join()).toBe(signed["signature"]);
  });

  it.each(Object.keys(signed).filter((name) => name !== "agent_id"))(
    "does not load it without %s",
    (name) => {
      expect(read(without(signed, name)).genesis).toBeUndefined();
      expect(read({ ...signed, [name]: null }).genesis).toBeUndefined();
    },
  );

  it("does not load it cut off, wherever", () => {
    const text = JSON.stringify(signed);
    for (let length = 0; length < text.length; length += 13) {
      expect(problemsOf(text.slice(0, length))).toEqual([expect.stringMatching(/^must be JSON: /)]);
    }
  });

  it("names both ids where another Agent-ID is written into it", () => {
    const other = "ab".repeat(32);
    expect(problemsOf({ ...signed, agent_id: other })).toEqual([
      `agent_id: must be "${agentId}", the hash of this Genesis, got "${other}"`,
    ]);
    expect(problemsOf({ ...signed, agent_id: agentId.toUpperCase() })).toHaveLength(1);
    expect(problemsOf({ ...signed, agent_id: "" })).toHaveLength(1);
    expect(problemsOf({ ...signed, agent_id: null })).toEqual([]);
  });

  it("names every check that an altered member fails", () => {
    expect(problemsOf({ ...signed, owner: "mallory.example" })).toEqual([
      ALTERED,
      expect.stringMatching(/^agent_id: must be "[0-9a-f]{64}", the hash of this Genesis, got /),
    ]);
  });

  it("does not load it signed with another key than the one it names", () => {
    expect(problemsOf(signGenesis(DRAFT, STRANGER))).toEqual([ALTERED]);
  });

  it("does not load a signature of the hash in place of the octets, or of another Genesis", () => {
    const other = signGenesis({ ...DRAFT, owner: "acme2.example" });
    expect(problemsOf({ ...signed, signature: other["signature"] })).toEqual([ALTERED]);
  });

  it.each(["", "A", "A".repeat(86), `${"A".repeat(85)}+`, "A".repeat(99)])(
    "does not load the signature %j",
    (signature) => {
      const [problem] = problemsOf({ ...signed, signature });
      expect(problem).toMatch(/^signature: (?:does not verify|must not be empty)/);
    },
  );

  it("says that somebody else signed it anew, and trusts nothing of it", () => {
    const resigned = signGenesis({ ...DRAFT, issuer_public_key: STRANGER.text }, STRANGER);
    const { genesis, problems } = read(resigned);
    expect(genesis?.isTrusted).toBe(false);
    expect(genesis?.agentId).not.toBe(agentId);
    expect(problems).toEqual([
      {
        file: FILE,
        key: "issuer_public_key",
        message: expect.stringContaining("policies.identity.trusted_issuers"),
        severity: "warning",
      },
    ]);
  });
});

describe("readGenesisFile, of a Genesis with wrong members,", () => {
  const otherKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey;
  const p256 = String(otherKey.export({ format: "pem", type: "spki" }));
  const secret = String(ISSUER.privateKey.export({ format: "pem", type: "pkcs8" }));

  const WRONG: readonly (readonly [Members, string | RegExp])[] = [
    [{ issuer_public_key: p256 }, /^issuer_public_key: must be an Ed25519 public key/],
    [{ issuer_public_key: "A".repeat(42) }, /^issuer_public_key: must be an Ed25519 public key/],
    [{ issuer_public_key: 7 }, "issuer_public_key: must be a string, got 7"],
    [{ agent_public_key: p256 }, /^agent_public_key: must be an Ed25519 public key/],
    [{ trust_tier: 0 }, "trust_tier: must be 1, 2 or 3, got 0"],
    [{ trust_tier: "1" }, 'trust_tier: must be 1, 2 or 3, got "1"'],
    [{ verification_path: undefined }, "verification_path: is required for trust tier 1"],
    [{ verification_path: ["dns-anchored"] }, "verification_path: must be a text, got an array"],
    [{ issued_at: "soon" }, 'issued_at: must be an ISO 8601 time, got "soon"'],
    [
      { issued_at: "2026-06-31T10:00:00Z" },
      'issued_at: must be an ISO 8601 time, got "2026-06-31T10:00:00Z"',
    ],
    [{ owner: "" }, "owner: must not be empty"],
    [{ owner: undefined }, "owner: is required"],
    [{ owner_id: "a b" }, /^owner_id: must be 1 to 256 letters/],
    [{ archetype: 1 }, "archetype: must be a string, got 1"],
    [{ governance_zone: "" }, 'governance_zone: must be a text of 1 to 256 characters, got ""'],
    [{ scope: ["room"] }, 'scope[0]: must be a scope token like "booking:room", got "room"'],
    [{ scope: "room" }, 'scope: must be an array of scope tokens, got "room"'],
    [{ scope: {} }, "scope: must be an array of scope tokens, got an object"],
  ];

  it.each(WRONG)("names what is wrong with %j, signed as it may be", (members, expected) => {
    expect(problemsOf(signGenesis({ ...DRAFT, ...members }))).toEqual([
      typeof expected === "string" ? expected : expect.stringMatching(expected),
    ]);
  });

  it.each(["name", "owner_id", "principal_id", "agent_public_key", "verification_path", "issuer"])(
    "needs %s in the reference's style",
    (name) => {
      expect(problemsOf(signGenesis(without(REFERENCE, name)))).toEqual([`${name}: is required`]);
    },
  );

  it("collects every problem", () => {
    expect(problemsOf({})).toEqual(
      [
        ...["archetype", "governance_zone", "scope", "trust_tier", "issued_at"],
        ...["issuer_public_key", "signature", "owner"],
      ].map((name) => `${name}: is required`),
    );
  });

  it("does not repeat a private key that stands in the place of the public one", () => {
    const [problem = ""] = problemsOf(signGenesis({ ...DRAFT, issuer_public_key: secret }));
    expect(problem).toBe("issuer_public_key: must be an Ed25519 public key, PEM or base64url");
  });

  it("warns of an archetype that no draft has, and of a log without its proof", () => {
    const unusual = { ...DRAFT, archetype: "wizard", verification_path: "log-anchored" };
    expect(problemsOf(signGenesis(unusual))).toEqual([
      "log_inclusion_proof: should be there, the Genesis is log-anchored",
      "archetype: should be one of assistant, analyst, executor, orchestrator, monitor",
    ]);
  });

  it.each(["null", "[]", '"text"', "7"])("refuses %s, which is no object", (text) => {
    expect(problemsOf(text)).toEqual(["must be a JSON object"]);
  });

  it("refuses members that are there twice, and a reach for the prototype", () => {
    const text = JSON.stringify(signGenesis(DRAFT));
    const twice = text.replace('"owner":', '"owner":"mallory.example","owner":');
    expect(problemsOf(twice)).toEqual(['must not have the member "owner" twice in one object']);
    const polluting = text.replace('"owner":', '"__proto__":{},"owner":');
    expect(problemsOf(polluting)).toEqual(['must have no member "__proto__"']);
    const deep = text.replace('"owner":', `"x":${"[".repeat(40)}${"]".repeat(40)},"owner":`);
    expect(problemsOf(deep)).toEqual(["must not be nested deeper than 32 levels"]);
  });

  it("never throws, whatever the members are", () => {
    const names = fc.constantFrom(
      ...Object.keys({ ...DRAFT, ...REFERENCE }),
      "signature",
      "agent_id",
    );
    fc.assert(
      fc.property(fc.dictionary(names, fc.jsonValue()), (members) => {
        problemsOf({ ...signGenesis(DRAFT), ...members });
      }),
      { numRuns: 200 },
    );
  });

  it("takes no issuer at its word that is not of the list, in either encoding", () => {
    for (const issuer_public_key of [ISSUER.text, ISSUER.pem]) {
      const text = JSON.stringify(signGenesis({ ...DRAFT, issuer_public_key }));
      const trustedBy = (...keys: readonly number[]): boolean | undefined =>
        readGenesisFile(
          text,
          FILE,
          keys.map((seed) => keyOf(seed).publicKey),
        ).genesis?.isTrusted;
      expect([trustedBy(), trustedBy(2, 3), trustedBy(2, 1)]).toEqual([false, false, true]);
    }
  });
});
