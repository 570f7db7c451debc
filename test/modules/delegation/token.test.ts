import { sign } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { taskHash } from "../../../src/modules/delegation/request.ts";
import {
  isTokenFault,
  SeenTokens,
  signToken,
  type TokenClaims,
  verifyToken,
} from "../../../src/modules/delegation/token.ts";
import { createMemoryStore } from "../../../src/state/memory-store.ts";
import { createRecordSigner } from "../../../src/state/records/sealer.ts";
import { keyOf } from "../../support/genesis.ts";

const KEY = keyOf(31);
const NOW = Date.UTC(2026, 5, 1);
const keyFor = (issuer: string) => (issuer === "home" ? KEY.publicKey : undefined);

const CLAIMS: TokenClaims = {
  ...{ issuer: "home", subject: "a".repeat(64), audience: "away", target: "erin" },
  ...{ scopes: ["a:b"], chain: ["0".repeat(64)], deadline: NOW + 1500, id: "1" },
  taskHash: "sha256:x",
};

function encode(text: string): string {
  return Buffer.from(text).toString("base64url");
}

// RFC 7519, RFC 8725
describe("a delegation token", () => {
  it("says what was signed, to the millisecond", async () => {
    const token = await signToken(CLAIMS, KEY.privateKey, NOW);
    expect(await verifyToken(token, keyFor, NOW)).toEqual(CLAIMS);
    expect(await verifyToken(token, keyFor, NOW + 6_000)).toEqual(CLAIMS);
    expect(await verifyToken(token, keyFor, NOW + 8_000)).toMatchObject({ fault: "expired" });
  });

  it("may be good for a day, whenever in a second that begins", async () => {
    const now = NOW + 500;
    const signed = (deadline: number) => signToken({ ...CLAIMS, deadline }, KEY.privateKey, now);
    const day = 86_400_000;
    const longest = await verifyToken(await signed(now + day), keyFor, now);
    expect(longest).toMatchObject({ deadline: now + day });
    const longer = await verifyToken(await signed(now + day + 1_000), keyFor, now);
    expect(longer).toMatchObject({ fault: "malformed" });
  });

  it("is not what it was once a character of it is another", async () => {
    const token = await signToken(CLAIMS, KEY.privateKey, NOW);
    await fc.assert(
      fc.asyncProperty(
        fc.nat({ max: token.length - 1 }),
        fc.constantFrom("A", "x", "."),
        async (at, by) => {
          fc.pre(token[at] !== by);
          const altered = token.slice(0, at) + by + token.slice(at + 1);
          expect(isTokenFault(await verifyToken(altered, keyFor, NOW))).toBe(true);
        },
      ),
      { numRuns: 60 },
    );
  });

  it("is no other JWT of the same key, and none without a signature", async () => {
    const payload = JSON.stringify({
      ...{ iss: "home", sub: "x", aud: "away", jti: "1", target: "e", scopes: [], chain: [] },
      ...{ iat: NOW / 1000, exp: NOW / 1000 + 5, deadline: new Date(NOW).toISOString() },
      task_hash: "x",
    });
    for (const key of [KEY.privateKey, undefined]) {
      const record = createRecordSigner(key).sign(payload);
      expect(isTokenFault(await verifyToken(record, keyFor, NOW))).toBe(true);
    }
  });

  // RFC 7515 §4, RFC 8725 §3
  it.each([{ jwk: { kty: "OKP" } }, { jku: "https://keys.example/" }, { b64: true }, { kid: 7 }])(
    "names no key and no way of its own to be verified, such as %j",
    async (more) => {
      const [, claims = ""] = (await signToken(CLAIMS, KEY.privateKey, NOW)).split(".");
      const sealed = (header: object): string => {
        const input = `${encode(JSON.stringify(header))}.${claims}`;
        return `${input}.${sign(null, Buffer.from(input), KEY.privateKey).toString("base64url")}`;
      };
      const plain = { alg: "EdDSA", typ: "agtp-delegation+jwt" };
      expect(await verifyToken(sealed(plain), keyFor, NOW)).toEqual(CLAIMS);
      const verdict = await verifyToken(sealed({ ...plain, ...more }), keyFor, NOW);
      expect(verdict).toMatchObject({ fault: "malformed" });
    },
  );

  it("says each thing once", async () => {
    const [header = "", claims = ""] = (await signToken(CLAIMS, KEY.privateKey, NOW)).split(".");
    const written = Buffer.from(claims, "base64url").toString();
    const twice = written.replace("{", '{"target":"mallory",');
    const input = `${header}.${encode(twice)}`;
    const signature = sign(null, Buffer.from(input), KEY.privateKey).toString("base64url");
    const verdict = await verifyToken(`${input}.${signature}`, keyFor, NOW);
    expect(verdict).toMatchObject({ fault: "malformed", message: "it is no signed JWT" });
  });

  it("has an id that can be kept, whatever a peer signs", async () => {
    const { seen } = await openAt(NOW);
    const ids = ["", "\0", "a b", "\ud800", "é".repeat(256), "x".repeat(512), "x".repeat(256)];
    const verdicts = ids.map(async (id) => {
      const token = await signToken({ ...CLAIMS, id }, KEY.privateKey, NOW);
      const verdict = await verifyToken(token, keyFor, NOW);
      if (isTokenFault(verdict)) return verdict.fault;
      return seen.take(verdict.issuer, verdict.id, verdict.deadline);
    });
    const malformed = ids.slice(1).map(() => "malformed");
    expect(await Promise.all(verdicts)).toEqual([...malformed, "fresh"]);
  });

  it("never throws, whatever is presented", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ maxLength: 300 }), async (text) => {
        expect(isTokenFault(await verifyToken(text, keyFor, NOW))).toBe(true);
      }),
    );
    expect(await verifyToken("a".repeat(20_000), keyFor, NOW)).toMatchObject({
      fault: "malformed",
    });
  });
});

describe("taskHash", () => {
  it("is the same for the same task, however its members are ordered", () => {
    expect(taskHash({ a: 1, b: { c: [1, 2] } })).toBe(taskHash({ b: { c: [1, 2] }, a: 1 }));
    expect(taskHash({ a: 1 })).not.toBe(taskHash({ a: 2 }));
    expect(taskHash(undefined)).not.toBe(taskHash(null));
  });

  it("is none for what has no canonical form", () => {
    expect(taskHash({ a: Number.NaN })).toBeUndefined();
    expect(taskHash({ a: "\ud800" })).toBeUndefined();
  });
});

/** The register of a store, over a clock that the test moves. */
async function openAt(at: number, store = createMemoryStore()) {
  const clock = { at };
  return { clock, store, seen: await SeenTokens.open(store, () => clock.at) };
}

describe("SeenTokens", () => {
  it("takes a token once, also when it comes twice at the same time", async () => {
    const { seen } = await openAt(0);
    const both = await Promise.all([seen.take("p", "1", 100), seen.take("p", "1", 100)]);
    expect(both.toSorted()).toEqual(["fresh", "seen"]);
    expect(await seen.take("q", "1", 100)).toBe("fresh");
  });

  it("remembers through a restart, and forgets what nobody would believe any more", async () => {
    const { seen, store } = await openAt(0);
    await seen.take("p", "1", 100);
    expect(await (await openAt(50, store)).seen.take("p", "1", 100)).toBe("seen");
    const later = await openAt(3_600_200, store);
    expect(await later.seen.take("p", "2", 3_600_300)).toBe("fresh");
    expect(await store.list("delegation-tokens")).toHaveLength(1);
  });

  it("takes no token a second time because the clock has stepped back", async () => {
    const { seen, clock, store } = await openAt(0);
    await seen.take("p", "1", 100);
    clock.at = 60_000;
    expect(await seen.take("p", "2", 60_100)).toBe("fresh");
    clock.at = 50;
    expect(await seen.take("p", "1", 100)).toBe("seen");
    await openAt(60_000, store);
    expect(await (await openAt(50, store)).seen.take("p", "1", 100)).toBe("seen");
  });

  it("takes so many of each peer", async () => {
    const { seen, clock } = await openAt(0);
    for (let id = 0; id < 10_000; id += 1) await seen.take("p", String(id), 100);
    expect(await seen.take("p", "more", 100)).toBe("full");
    expect(await seen.take("q", "other", 100)).toBe("fresh");
    clock.at = 200;
    expect(await seen.take("p", "later", 300)).toBe("fresh");
  });
});
