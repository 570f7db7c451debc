import { rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { JwksKeys, openTokenVerifier, type VerifierOptions } from "../../../src/app/jwks/keys.ts";
import type { FetchedKeys } from "../../../src/app/jwks/source.ts";
import { makeDirectory } from "../../support/directory.ts";
import { openJwksServer } from "../../support/jwks-server.ts";
import {
  goodClaims,
  ISSUER,
  type IssuerKey,
  keySetOf,
  makeIssuerKey,
  NOW,
  signToken,
} from "../../support/token-issuer.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

let old: IssuerKey;
let next: IssuerKey;

beforeAll(async () => {
  old = await makeIssuerKey("EdDSA", "old");
  next = await makeIssuerKey("EdDSA", "next");
});

/** Keys over an issuer that answers as the test says, at the time that the test says. */
function open() {
  const clock = { now: NOW };
  const issuer = {
    keys: [old],
    isDown: false,
    lifetimeMs: 10 * MINUTE,
    fetches: 0,
    release: undefined as Promise<void> | undefined,
  };
  const log: { readonly level: string; readonly fields: object; readonly message?: string }[] = [];
  const write = (level: string) => (fields: object, message?: string) => {
    log.push({ level, fields, ...(message === undefined ? {} : { message }) });
  };
  const source = {
    async fetch(): Promise<FetchedKeys | { readonly fault: string }> {
      issuer.fetches += 1;
      await issuer.release;
      if (issuer.isDown) return { fault: "connect ECONNREFUSED" };
      const set = keySetOf(issuer.keys.map(({ jwk }) => jwk));
      return { set, ignored: [], lifetimeMs: issuer.lifetimeMs };
    },
    close: () => Promise.resolve(),
  };
  const keys = new JwksKeys(source, {
    now: () => clock.now,
    log: { info: write("info"), warn: write("warn") },
  });
  const kids = async (kid?: string): Promise<readonly string[] | undefined> => {
    const set = await keys.keysFor(kid);
    return set && ["old", "next"].filter((name) => set.has(name));
  };
  return { clock, issuer, log, keys, kids };
}

describe("the issuer's keys", () => {
  it("are fetched when they are first needed, once for all who ask", async () => {
    const { issuer, keys } = open();
    expect(issuer.fetches).toBe(0);
    const sets = await Promise.all(Array.from({ length: 20 }, () => keys.keysFor("old")));
    expect(new Set(sets).size).toBe(1);
    expect(issuer.fetches).toBe(1);
  });

  it("are used without asking until their time is over", async () => {
    const { clock, issuer, kids } = open();
    await kids();
    clock.now += 10 * MINUTE - 1;
    await kids("old");
    expect(issuer.fetches).toBe(1);
    clock.now += 1;
    issuer.keys = [next];
    expect(await kids()).toEqual(["next"]);
    expect(issuer.fetches).toBe(2);
  });

  it("are asked for again at once when a token names one that is not among them", async () => {
    const { issuer, kids, keys } = open();
    await kids("old");
    const generation = keys.generation;
    issuer.keys = [old, next];
    expect(await kids("next")).toEqual(["old", "next"]);
    expect(issuer.fetches).toBe(2);
    expect(keys.generation).toBeGreaterThan(generation);
  });

  it("have another generation only when they are others", async () => {
    const { clock, kids, keys } = open();
    await kids();
    const generation = keys.generation;
    clock.now += 10 * MINUTE;
    await kids();
    expect(keys.generation).toBe(generation);
  });

  it("may be withdrawn, all of them", async () => {
    const { clock, issuer, kids, log } = open();
    await kids();
    issuer.keys = [];
    clock.now += 10 * MINUTE;
    expect(await kids("old")).toEqual([]);
    expect(log).toContainEqual({
      level: "warn",
      fields: { event: "issuer-keys" },
      message: "the token issuer publishes no usable key",
    });
  });
});

describe("a flood of invented key ids", () => {
  it("reaches the issuer every other second at most", async () => {
    const { clock, issuer, kids } = open();
    await kids("old");
    const asked: number[] = [];
    for (let second = 0; second < 10; second += 1) {
      for (let token = 0; token < 10; token += 1) {
        const before = issuer.fetches;
        await kids(`invented-${second}-${token}`);
        if (issuer.fetches > before) asked.push(second);
      }
      clock.now += 1_000;
    }
    expect(asked).toEqual([0, 2, 4, 6, 8]);
  });

  it("does not keep tokens of known keys waiting", async () => {
    const { issuer, kids } = open();
    await kids("old");
    let release = (): void => undefined;
    issuer.release = new Promise((resolve) => {
      release = resolve;
    });
    const invented = kids("invented");
    expect(await kids("old")).toEqual(["old"]);
    expect(await kids()).toEqual(["old"]);
    release();
    expect(await invented).toEqual(["old"]);
  });

  it("waits for the issuer in bounded numbers", async () => {
    const { issuer, kids } = open();
    await kids("old");
    let release = (): void => undefined;
    issuer.release = new Promise((resolve) => {
      release = resolve;
    });
    const waiting = Array.from({ length: 256 }, (_, index) => kids(`invented-${index}`));
    expect(await kids("one more")).toEqual(["old"]);
    release();
    await Promise.all(waiting);
    expect(issuer.fetches).toBe(2);
  });

  it("makes a real rotation wait for the cool-down, and no longer", async () => {
    const { clock, issuer, kids } = open();
    await kids("old");
    for (let flood = 0; flood < 20; flood += 1) {
      await kids(`invented-${flood}`);
      clock.now += 2_000;
    }
    await kids("invented");
    issuer.keys = [next];
    clock.now += 1_999;
    expect(await kids("next")).toEqual(["old"]);
    clock.now += 1;
    expect(await kids("next")).toEqual(["next"]);
    // Asking was not in vain, so nobody waits any more.
    issuer.keys = [old, next];
    expect(await kids("old")).toEqual(["old", "next"]);
  });
});

describe("an issuer that is down", () => {
  it("leaves no keys where there were none, with a warning, and is asked again soon", async () => {
    const { clock, issuer, kids, log } = open();
    issuer.isDown = true;
    expect(await kids("old")).toBeUndefined();
    expect(await kids("old")).toBeUndefined();
    expect(issuer.fetches).toBe(1);
    expect(log).toEqual([
      {
        level: "warn",
        fields: { event: "issuer-keys", reason: "connect ECONNREFUSED" },
        message: "the token issuer's keys cannot be had",
      },
    ]);
    issuer.isDown = false;
    clock.now += 1_000;
    expect(await kids("old")).toEqual(["old"]);
  });

  it("does not stop the start, which does not wait", async () => {
    const { issuer, keys, log } = open();
    issuer.isDown = true;
    keys.start();
    expect(issuer.fetches).toBe(1);
    expect(await keys.keysFor("old")).toBeUndefined();
    expect(log.map(({ level }) => level)).toEqual(["warn"]);
    expect(issuer.fetches).toBe(1);
  });

  it("is done without for a day, and no longer", async () => {
    const { clock, issuer, kids, log } = open();
    await kids();
    issuer.isDown = true;
    clock.now += 24 * HOUR - 1;
    expect(await kids("old")).toEqual(["old"]);
    expect(log.at(-1)?.message).toBe("the token issuer's keys cannot be renewed");
    clock.now += 1;
    expect(await kids("old")).toBeUndefined();
    clock.now += 30_000;
    issuer.isDown = false;
    expect(await kids("old")).toEqual(["old"]);
  });
});

describe("an issuer that hangs", () => {
  it("keeps nobody waiting whose key is known, once it has not answered", async () => {
    const { clock, issuer, kids } = open();
    await kids();
    issuer.isDown = true;
    clock.now += issuer.lifetimeMs;
    expect(await kids("old")).toEqual(["old"]);
    clock.now += MINUTE;
    issuer.release = new Promise(() => undefined);
    expect(await kids("old")).toEqual(["old"]);
    // One question is under way for all of them.
    expect(await Promise.all([kids("old"), kids("old")])).toEqual([["old"], ["old"]]);
    expect(issuer.fetches).toBe(3);
  });

  it("is believed at once when it answers again", async () => {
    const { clock, issuer, keys, kids } = open();
    await kids();
    issuer.isDown = true;
    clock.now += issuer.lifetimeMs;
    await kids("old");
    clock.now += MINUTE;
    Object.assign(issuer, { isDown: false, keys: [next] });
    await keys.keysFor("old");
    expect(await kids("next")).toEqual(["next"]);
    expect(await kids("old")).toEqual(["next"]);
  });
});

describe("close", () => {
  it("asks for nothing any more, and warns of nothing", async () => {
    const { issuer, keys, log } = open();
    let release = (): void => undefined;
    issuer.release = new Promise((resolve) => {
      release = resolve;
    });
    issuer.isDown = true;
    keys.start();
    const closed = keys.close();
    release();
    await closed;
    await keys.keysFor("old");
    expect(issuer.fetches).toBe(1);
    expect(log).toEqual([]);
  });
});

type Keys = { readonly jwksUri: string } | { readonly jwksFile: string };

async function openVerifier(keys: Keys) {
  const clock = { now: NOW };
  const log: string[] = [];
  const write = (fields: object, message?: string): void => {
    log.push(JSON.stringify({ ...fields, message }));
  };
  const options: VerifierOptions = {
    oauth: { issuer: ISSUER, principalClaim: "sub", requiredOnMethods: [], ...keys },
    file: "agtp-server.toml",
    log: { info: write, warn: write },
    clock: { now: () => clock.now },
    measured: () => clock.now,
  };
  const opened = await openTokenVerifier(options);
  onTestFinished(() => opened.verifier?.close());
  const judge = async (token: string): Promise<string> => {
    const verdict = await opened.verifier?.verify(`Bearer ${token}`);
    return verdict?.kind === "valid" ? verdict.principalId : (verdict?.reason ?? "");
  };
  return { ...opened, clock, log, judge };
}

describe("openTokenVerifier with a file", () => {
  it("verifies with the keys of the file", async () => {
    const key = await makeIssuerKey();
    const directory = makeDirectory({ "jwks.json": JSON.stringify({ keys: [key.jwk] }) });
    const { judge, problems } = await openVerifier({ jwksFile: join(directory, "jwks.json") });
    expect(problems).toEqual([]);
    expect(await judge(await signToken(key))).toBe("ada");
  });

  it("follows a rotation of the keys in the file", async () => {
    const [first, second] = await Promise.all([
      makeIssuerKey("ES256", "2030-01"),
      makeIssuerKey("EdDSA", "2030-02"),
    ]);
    const directory = makeDirectory({ "jwks.json": JSON.stringify({ keys: [first.jwk] }) });
    const jwksFile = join(directory, "jwks.json");
    const { judge, clock, log } = await openVerifier({ jwksFile });
    const [old, young] = [await signToken(first), await signToken(second)];
    expect(await judge(old)).toBe("ada");
    expect(await judge(young)).toBe("no key of the issuer fits the token");
    writeFileSync(jwksFile, JSON.stringify({ keys: [second.jwk] }));
    clock.now += 1_000;
    expect(await judge(young)).toBe("ada");
    expect(await judge(old)).toBe("no key of the issuer fits the token");
    for (const text of ["{", undefined]) {
      if (text === undefined) rmSync(jwksFile);
      else writeFileSync(jwksFile, text);
      clock.now += 1_000;
      expect(await judge(young)).toBe("ada");
      expect(log.at(-1)).toContain("cannot be renewed");
    }
  });

  it("follows a rotation by a key that is as long, written over the other one", async () => {
    const [first, second] = await Promise.all([makeIssuerKey(), makeIssuerKey()]);
    const directory = makeDirectory({ "jwks.json": JSON.stringify({ keys: [first.jwk] }) });
    const jwksFile = join(directory, "jwks.json");
    utimesSync(jwksFile, 1, 1);
    const { judge, clock } = await openVerifier({ jwksFile });
    expect(await judge(await signToken(first))).toBe("ada");
    const { ino, size } = statSync(jwksFile);
    writeFileSync(jwksFile, JSON.stringify({ keys: [second.jwk] }));
    utimesSync(jwksFile, 1, 1.001);
    expect(statSync(jwksFile)).toMatchObject({ ino, size });
    clock.now += 1_000;
    expect(await judge(await signToken(second))).toBe("ada");
  });

  it("has no verifier when the file has no usable key", async () => {
    const directory = makeDirectory({ "jwks.json": '{"keys":[]}' });
    const { verifier, problems } = await openVerifier({ jwksFile: join(directory, "jwks.json") });
    expect(verifier).toBeUndefined();
    expect(problems).toMatchObject([{ file: "agtp-server.toml", key: "policies.oauth.jwks_file" }]);
  });
});

describe("openTokenVerifier with a URL", () => {
  it("is a problem where the URL is none", async () => {
    const { verifier, problems } = await openVerifier({ jwksUri: "https://[::1" });
    expect(verifier).toBeUndefined();
    expect(problems).toMatchObject([{ key: "policies.oauth.jwks_uri" }]);
  });

  it("connects to nothing before it is started", async () => {
    const server = await openJwksServer();
    await openVerifier({ jwksUri: server.uri });
    expect(server.requests).toEqual([]);
  });

  it("follows a rotation of the issuer's keys", async () => {
    const server = await openJwksServer();
    const [first, second] = await Promise.all([
      makeIssuerKey("ES256", "2030-01"),
      makeIssuerKey("EdDSA", "2030-02"),
    ]);
    server.publish([first.jwk]);
    const { judge, start, clock } = await openVerifier({ jwksUri: server.uri });
    start();
    expect(await judge(await signToken(first))).toBe("ada");
    server.publish([first.jwk, second.jwk]);
    expect(await judge(await signToken(second))).toBe("ada");
    server.publish([second.jwk]);
    clock.now += 600_000;
    const later = { iat: clock.now / 1000, exp: clock.now / 1000 + 60 };
    expect(await judge(await signToken(first, goodClaims(later)))).toBe(
      "no key of the issuer fits the token",
    );
    expect(await judge(await signToken(second, goodClaims(later)))).toBe("ada");
  });

  it("follows a rotation that was missed for invented key ids as soon as it may ask", async () => {
    const server = await openJwksServer();
    const [first, second] = await Promise.all([
      makeIssuerKey("ES256", "2030-01"),
      makeIssuerKey("EdDSA", "2030-02"),
    ]);
    server.publish([first.jwk]);
    const { judge, clock } = await openVerifier({ jwksUri: server.uri });
    const unknown = "no key of the issuer fits the token";
    expect(await judge(await signToken(first, goodClaims(), { kid: "invented" }))).toBe(unknown);
    expect(await judge(await signToken(first, goodClaims(), { kid: "another" }))).toBe(unknown);
    server.publish([second.jwk]);
    const rotated = await signToken(second);
    expect(await judge(rotated)).toBe(unknown);
    clock.now += 2_000;
    expect(await judge(rotated)).toBe("ada");
  });

  it("starts without the issuer, refuses tokens, and recovers", async () => {
    const server = await openJwksServer();
    const key = await makeIssuerKey();
    const { judge, start, clock, log } = await openVerifier({ jwksUri: server.uri });
    start();
    const token = await signToken(key);
    expect(await judge(token)).toBe("keys unavailable");
    expect(log).toHaveLength(1);
    expect(log[0]).toContain("answered with status 503, expected 200");
    server.publish([key.jwk]);
    clock.now += 1_000;
    expect(await judge(token)).toBe("ada");
  });

  it("never logs a token, or anything in it", async () => {
    const server = await openJwksServer();
    const key = await makeIssuerKey();
    server.publish([key.jwk]);
    const { judge, log } = await openVerifier({ jwksUri: server.uri });
    const secret = "s3cr3t-marker";
    for (const token of [
      await signToken(key, goodClaims({ sub: secret })),
      await signToken(key, goodClaims({ iss: secret })),
      await signToken(key, goodClaims(), { kid: secret }),
      `${secret}.${secret}.${secret}`,
    ]) {
      await judge(token);
      for (const part of token.split(".")) expect(log.join("\n")).not.toContain(part);
    }
    expect(log.join("\n")).not.toContain(secret);
  });
});
