import { exportJWK, generateKeyPair, type JWK, jwtVerify, SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { KeySets } from "../../../../src/modules/agentcli/governance/keys.ts";
import type { JsonAnswer } from "../../../../src/modules/agentcli/world.ts";

const URL = "https://keys.example/jwks";

async function makeKey(kid: string) {
  const { privateKey, publicKey } = await generateKeyPair("ES256");
  const token = await new SignJWT({}).setProtectedHeader({ alg: "ES256", kid }).sign(privateKey);
  return { jwk: { ...(await exportJWK(publicKey)), kid }, token };
}

/** A place with keys that can be changed, a clock, and a count of questions. */
function makeSets(first: readonly JWK[], maxAgeSeconds?: number) {
  const state = { keys: first, now: 0, asked: 0, fault: "" };
  const sets = new KeySets(
    (): Promise<JsonAnswer> => {
      state.asked += 1;
      if (state.fault !== "") return Promise.resolve({ kind: "fault", message: state.fault });
      return Promise.resolve({ kind: "json", value: { keys: state.keys }, maxAgeSeconds });
    },
    () => state.now,
  );
  const verify = async (token: string): Promise<string> => {
    const found = await sets.find(URL);
    if (found.kind === "fault") return found.message;
    return jwtVerify(token, found.keys).then(
      () => "verified",
      () => "not verified",
    );
  };
  return { state, verify };
}

// RFC 9111 §5.2.2.1
describe("KeySets", () => {
  it.each([
    [undefined, 300],
    [60, 60],
    [86_400, 3600],
  ])("keeps keys with max-age %s for %s seconds", async (maxAge, seconds) => {
    const key = await makeKey("one");
    const { state, verify } = makeSets([key.jwk], maxAge);
    expect(await verify(key.token)).toBe("verified");
    state.now = seconds * 1000 - 1;
    expect(await verify(key.token)).toBe("verified");
    expect(state.asked).toBe(1);
    state.now = seconds * 1000;
    expect(await verify(key.token)).toBe("verified");
    expect(state.asked).toBe(2);
  });

  it("has none where what is published is no key set, and asks again", async () => {
    const key = await makeKey("one");
    for (const keys of [["hush"], [null]]) {
      const { state, verify } = makeSets(keys as unknown as JWK[]);
      expect(await verify(key.token)).toBe("the key set is none");
      state.keys = [key.jwk];
      expect(await verify(key.token)).toBe("verified");
    }
  });

  it("asks again for a key that it does not have, and not over and over", async () => {
    const [old, fresh, unknown] = await Promise.all(["old", "new", "none"].map(makeKey));
    if (old === undefined || fresh === undefined || unknown === undefined) throw new Error("keys");
    const { state, verify } = makeSets([old.jwk]);
    expect(await verify(old.token)).toBe("verified");
    state.keys = [old.jwk, fresh.jwk];
    expect(await verify(fresh.token)).toBe("not verified");
    state.now = 10_000;
    expect(await verify(fresh.token)).toBe("verified");
    expect(state.asked).toBe(2);
    for (let at = 0; at < 5; at += 1) expect(await verify(unknown.token)).toBe("not verified");
    expect(state.asked).toBe(2);
  });

  it("asks once for all who wait for the same answer", async () => {
    const [old, fresh] = await Promise.all(["old", "new"].map(makeKey));
    if (old === undefined || fresh === undefined) throw new Error("keys");
    const { state, verify } = makeSets([old.jwk]);
    const atOnce = (token: string) => Promise.all([1, 2, 3].map(() => verify(token)));
    expect(await atOnce(old.token)).toEqual(["verified", "verified", "verified"]);
    expect(state.asked).toBe(1);
    state.keys = [fresh.jwk];
    state.now = 10_000;
    expect(await atOnce(fresh.token)).toEqual(["verified", "verified", "verified"]);
    expect(state.asked).toBe(2);
  });

  it("lets proofs by unknown keys ask no more often where nobody answers", async () => {
    const [key, unknown] = await Promise.all(["one", "none"].map(makeKey));
    if (key === undefined || unknown === undefined) throw new Error("keys");
    const { state, verify } = makeSets([key.jwk]);
    expect(await verify(key.token)).toBe("verified");
    state.fault = "did not answer";
    state.now = 10_000;
    for (let at = 0; at < 5; at += 1) expect(await verify(unknown.token)).toBe("not verified");
    expect(state.asked).toBe(2);
    expect(await verify(key.token)).toBe("verified");
  });

  it("says why there are no keys, and keeps no such answer", async () => {
    const key = await makeKey("one");
    const { state, verify } = makeSets([key.jwk]);
    state.fault = "answered HTTP 503";
    expect(await verify(key.token)).toBe("the key set answered HTTP 503");
    state.fault = "";
    expect(await verify(key.token)).toBe("verified");
  });
});
