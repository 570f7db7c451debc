import { createHmac, createPublicKey } from "node:crypto";
import type { JWK } from "jose";
import { beforeAll, describe, expect, it } from "vitest";
import type { TokenVerdict } from "../../src/identity/bearer-syntax.ts";
import { createTokenVerifier } from "../../src/identity/bearer-verifier.ts";
import {
  createKeys,
  encodePart,
  goodClaims,
  ISSUER,
  type IssuerKey,
  makeIssuerKey,
  NOW,
  signToken,
} from "../support/token-issuer.ts";

const NOW_S = NOW / 1000;
const AUDIENCE = "agtp://test";
const THUMBPRINT = Buffer.alloc(32, 0xa5).toString("base64url");

let key: IssuerKey;
let rsa: IssuerKey;
let stranger: IssuerKey;

beforeAll(async () => {
  key = await makeIssuerKey("EdDSA", "key-1");
  rsa = await makeIssuerKey("RS256", "rsa-1");
  stranger = await makeIssuerKey("EdDSA", "key-1");
});

interface Options {
  readonly jwks?: readonly JWK[];
  readonly audience?: string;
  readonly principalClaim?: string;
  readonly agentClaim?: string;
}

function open({
  jwks = [key.jwk, rsa.jwk],
  audience,
  principalClaim = "sub",
  agentClaim,
}: Options = {}) {
  const keys = createKeys(jwks);
  const clock = { now: NOW };
  const verifier = createTokenVerifier({
    oauth: {
      ...{ issuer: ISSUER, principalClaim },
      ...(audience === undefined ? {} : { audience }),
      ...(agentClaim === undefined ? {} : { agentClaim }),
    },
    keys,
    now: () => clock.now,
  });
  return { verifier, keys, clock };
}

function judge(token: string, options?: Options): Promise<TokenVerdict> {
  return open(options).verifier.verify(`Bearer ${token}`);
}

function refused(reason: string): TokenVerdict {
  return { kind: "invalid", reason };
}

const accepted = { kind: "valid", principalId: "ada", expiresAt: NOW + 600_000 };

// AGTP "Authorization", RFC 6750 §2.1
describe("the Authorization header", () => {
  it.each(["Bearer", "bearer", "BEARER", "bEaReR"])(
    "is read with the scheme %s",
    async (scheme) => {
      const { verifier } = open();
      expect(await verifier.verify(`${scheme} ${await signToken(key)}`)).toEqual(accepted);
    },
  );

  it.each([
    "",
    "Bearer",
    "Bearer ",
    "Basic YWRhOmFkYQ==",
    "BearerX",
    "Bearer a b",
    "Bearer a,b",
    "Bearer \ta",
    "Token x",
    "Bearer tök",
    'Bearer "a"',
    "DPoP a.b.c",
  ])("is refused at once as %j", async (value) => {
    const { verifier, keys } = open();
    const reason = "the Authorization scheme must be Bearer, with one token";
    expect(verifier.recall(value)).toEqual(refused(reason));
    expect(await verifier.verify(value)).toEqual(refused(reason));
    expect(keys.asked).toEqual([]);
  });

  it("takes a token of 16 KiB and none that is longer", async () => {
    const { verifier } = open();
    const longest = `Bearer ${"a".repeat(16_384)}`;
    expect(await verifier.verify(longest)).toEqual(refused("the token is no signed JWT"));
    expect(verifier.recall(`${longest}a`)).toEqual(refused("the token is too long"));
    expect(verifier.recall(longest.repeat(64))).toEqual(refused("the token is too long"));
  });
});

// RFC 7518 §3.1, RFC 8037, RFC 9864
describe("a good token", () => {
  it.each([
    ...["EdDSA", "Ed25519", "ES256", "ES384", "ES512"],
    ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ])("is accepted when it is signed with %s", async (alg) => {
    const signer = await makeIssuerKey(alg);
    expect(await judge(await signToken(signer), { jwks: [signer.jwk] })).toEqual(accepted);
  });

  it("is accepted under a key that says no alg, and under either name of Ed25519", async () => {
    const { alg: _, ...bare } = key.jwk;
    const token = await signToken(key);
    expect(await judge(token, { jwks: [bare] })).toEqual(accepted);
    expect(await judge(token, { jwks: [{ ...bare, alg: "Ed25519" }] })).toEqual(accepted);
  });

  it("may leave the kid out: the keys that fit are tried", async () => {
    const token = await signToken(key, goodClaims(), { kid: undefined });
    const others = await Promise.all([1, 2, 3].map(() => makeIssuerKey()));
    const jwks = [...others.map(({ jwk }) => jwk), key.jwk];
    expect(await judge(token, { jwks })).toEqual(accepted);
  });

  it.each([undefined, "jwt", "JWT", "at+jwt", "application/at+jwt"])(
    "may have typ %s",
    async (typ) => {
      expect(await judge(await signToken(key, goodClaims(), { typ }))).toEqual(accepted);
    },
  );

  it.each([
    ["nbf", { nbf: NOW_S + 29 }],
    ["iat", { iat: NOW_S + 29 }],
    ["exp", { exp: NOW_S - 29, iat: NOW_S - 60 }],
  ])("may be half a minute off in %s", async (_, claims) => {
    expect(await judge(await signToken(key, goodClaims(claims)))).toMatchObject({ kind: "valid" });
  });

  it("need not say when it was issued", async () => {
    const token = await signToken(key, goodClaims({ iat: undefined }));
    expect(await judge(token)).toEqual(accepted);
  });

  it.each([AUDIENCE, [AUDIENCE], ["other", AUDIENCE]])(
    "may be for the audience %j",
    async (aud) => {
      const token = await signToken(key, goodClaims({ aud }));
      expect(await judge(token, { audience: AUDIENCE })).toEqual({
        ...accepted,
        audiences: [aud].flat(),
      });
    },
  );

  it("is for anybody where no audience is configured", async () => {
    const token = await signToken(key, goodClaims({ aud: "other" }));
    expect(await judge(token)).toEqual({ ...accepted, audiences: ["other"] });
  });

  it("says which agent it is for, and which scopes of this protocol it has", async () => {
    const claims = goodClaims({ agent: "a".repeat(64), scope: "openid rooms:read rooms:book" });
    expect(await judge(await signToken(key, claims), { agentClaim: "agent" })).toEqual({
      ...accepted,
      ...{ agentId: "a".repeat(64), scopes: ["rooms:read", "rooms:book"] },
    });
    const listed = goodClaims({ scp: ["openid", "rooms:read", 7] });
    expect(await judge(await signToken(key, listed))).toEqual({
      ...accepted,
      scopes: ["rooms:read"],
    });
    const others = goodClaims({ agent: 7, scope: "openid" });
    expect(await judge(await signToken(key, others), { agentClaim: "agent" })).toEqual({
      ...accepted,
      agentId: null,
    });
    const bare = await signToken(key, goodClaims());
    expect(await judge(bare, { agentClaim: "agent" })).toEqual(accepted);
  });

  // RFC 8705 §3.1
  it("says to which client certificate it is bound", async () => {
    const cnf = { "x5t#S256": THUMBPRINT };
    const verdict = await judge(await signToken(key, goodClaims({ cnf })));
    expect(verdict).toEqual({ ...accepted, certificate: "a5".repeat(32) });
  });

  it.each(["", "openid profile"])(
    "is narrowed by its scp beside the scope %j, which has none of this protocol",
    async (scope) => {
      const token = await signToken(key, goodClaims({ scope, scp: ["rooms:read"] }));
      expect(await judge(token)).toEqual({ ...accepted, scopes: ["rooms:read"] });
    },
  );

  it("names its principal by the configured claim", async () => {
    const claims = goodClaims({ "https://id.example/email": "ada@example.org" });
    const verdict = await judge(await signToken(key, claims), {
      principalClaim: "https://id.example/email",
    });
    expect(verdict).toMatchObject({ kind: "valid", principalId: "ada@example.org" });
  });
});

// RFC 8725 §2, §3
describe("an attack", () => {
  const unsigned = (header: object, claims: object = goodClaims()): string =>
    `${encodePart(header)}.${encodePart(claims)}.`;

  it.each(["none", "None", "NONE", "nOnE"])("with alg %s is refused", async (alg) => {
    expect(await judge(unsigned({ alg }))).toEqual(refused("the token is no signed JWT"));
    expect(await judge(`${unsigned({ alg })}AAAA`)).toEqual(
      refused("the token is signed by an algorithm that is not accepted"),
    );
  });

  it("without a signature is refused", async () => {
    const [header, claims] = (await signToken(key)).split(".");
    expect(await judge(`${header}.${claims}.`)).toEqual(refused("the token is no signed JWT"));
    expect(await judge(`${header}.${claims}`)).toEqual(refused("the token is no signed JWT"));
  });

  it.each([
    ["the PEM of the public key", (jwk: JWK) => pem(jwk)],
    ["the DER of the public key", (jwk: JWK) => der(jwk)],
    ["the modulus", (jwk: JWK) => Buffer.from(jwk.n ?? "", "base64url")],
    ["the JWK", (jwk: JWK) => JSON.stringify(jwk)],
  ])("that takes %s for a shared secret is refused", async (_, secret) => {
    for (const bits of ["256", "384", "512"]) {
      const input = `${encodePart({ alg: `HS${bits}`, kid: "rsa-1" })}.${encodePart(goodClaims())}`;
      const hmac = createHmac(`sha${bits}`, secret(rsa.jwk)).update(input).digest("base64url");
      expect(await judge(`${input}.${hmac}`)).toEqual(
        refused("the token is signed by an algorithm that is not accepted"),
      );
    }
  });

  it("that is signed with a symmetric key of the set is refused", async () => {
    const k = Buffer.alloc(32, 7).toString("base64url");
    const input = `${encodePart({ alg: "HS256", kid: "oct" })}.${encodePart(goodClaims())}`;
    const hmac = createHmac("sha256", Buffer.alloc(32, 7)).update(input).digest("base64url");
    const verdict = await judge(`${input}.${hmac}`, { jwks: [{ kty: "oct", kid: "oct", k }] });
    expect(verdict.kind).toBe("invalid");
  });

  it("by another key of the same kid is refused", async () => {
    expect(await judge(await signToken(stranger))).toEqual(
      refused("the token's signature does not verify"),
    );
  });

  it("with a kid that nobody published is refused", async () => {
    const token = await signToken(key, goodClaims(), { kid: "other" });
    expect(await judge(token)).toEqual(refused("no key of the issuer fits the token"));
  });

  it.each(["__proto__", "constructor", "../../etc/passwd", "' OR 1=1 --", "\u0000"])(
    "with the kid %j is refused",
    async (kid) => {
      const token = await signToken(stranger, goodClaims(), { kid });
      expect(await judge(token)).toEqual(refused("no key of the issuer fits the token"));
    },
  );

  it("that uses a key for another algorithm of its type is refused", async () => {
    const signer = await makeIssuerKey("PS256");
    const token = await signToken(signer);
    expect(await judge(token, { jwks: [signer.jwk] })).toEqual(accepted);
    expect(await judge(token, { jwks: [{ ...signer.jwk, alg: "RS256" }] })).toEqual(
      refused("no key of the issuer fits the token"),
    );
  });

  it("that names the algorithm of another type of key is refused", async () => {
    const [, claims, signature] = (await signToken(key)).split(".");
    for (const alg of ["ES256", "RS256", "PS512"]) {
      const header = encodePart({ alg, kid: "key-1" });
      expect(await judge(`${header}.${claims}.${signature}`)).toEqual(
        refused("no key of the issuer fits the token"),
      );
    }
  });

  it.each([
    ["jwk", (jwk: JWK) => jwk],
    ["jku", () => "https://evil.example/jwks"],
    ["x5u", () => "https://evil.example/cert"],
    ["x5c", () => ["MIIB"]],
  ])("that brings its own key in %s is refused, whoever signed it", async (name, value) => {
    for (const signer of [stranger, key]) {
      const token = await signToken(signer, goodClaims(), { [name]: value(signer.jwk) });
      expect(await judge(token)).toEqual(refused("the token brings a key of its own"));
    }
  });

  it.each([{ crit: ["exp"], exp: 1 }, { crit: ["b64"], b64: false }, { crit: [] }, { b64: true }])(
    "with the header %j is refused",
    async (more) => {
      const [, claims, signature] = (await signToken(key)).split(".");
      const header = encodePart({ alg: "EdDSA", kid: "key-1", ...more });
      expect(await judge(`${header}.${claims}.${signature}`)).toEqual(
        refused("the token has critical header parameters"),
      );
    },
  );

  it.each(["logout+jwt", "secevent+jwt", "dpop+jwt", "JOSE", "", 7, null])(
    "with a token of the type %j is refused",
    async (typ) => {
      const [, claims, signature] = (await signToken(key)).split(".");
      const header = encodePart({ alg: "EdDSA", kid: "key-1", typ });
      expect(await judge(`${header}.${claims}.${signature}`)).toEqual(
        refused("the token is of another type than an access token"),
      );
    },
  );

  it("with a claim or a header parameter that stands there twice is refused", async () => {
    const header = encodePart({ alg: "EdDSA", kid: "key-1" });
    const twice = encodePart(
      `{"iss":"${ISSUER}","sub":"eve","exp":${NOW_S + 60},"su\\u0062":"ada"}`,
    );
    const algTwice = encodePart('{"alg":"none","kid":"key-1","alg":"EdDSA"}');
    for (const [protectedHeader, claims] of [
      [header, twice],
      [algTwice, encodePart(goodClaims())],
    ]) {
      const token = await signRaw(`${protectedHeader}.${claims}`);
      expect(await judge(token)).toEqual(refused("the token is no signed JWT"));
    }
  });

  it("with a changed claim is refused", async () => {
    const [header, , signature] = (await signToken(key)).split(".");
    const token = `${header}.${encodePart(goodClaims({ sub: "root" }))}.${signature}`;
    expect(await judge(token)).toEqual(refused("the token's signature does not verify"));
  });

  it("with a signature of another length is refused", async () => {
    const token = await signToken(key);
    const [header, claims, signature = ""] = token.split(".");
    for (const cut of ["A", "AA", signature.slice(0, -4), `${signature}AAAA`]) {
      expect((await judge(`${header}.${claims}.${cut}`)).kind).toBe("invalid");
    }
  });

  it("with an all-zero ECDSA signature is refused", async () => {
    const ec = await makeIssuerKey("ES256", "ec-1");
    const zeros = Buffer.alloc(64).toString("base64url");
    const forged = `${encodePart({ alg: "ES256", kid: "ec-1" })}.${encodePart(goodClaims())}.${zeros}`;
    expect(await judge(forged, { jwks: [ec.jwk] })).toEqual(
      refused("the token's signature does not verify"),
    );
  });

  it.each([
    ["no JSON", "{"],
    ["an array", "[]"],
    ["a text", '"x"'],
    ["null", "null"],
    ["a byte order mark", `\ufeff${JSON.stringify({ alg: "EdDSA" })}`],
    ["deep nesting", `{"a":${"[".repeat(64)}${"]".repeat(64)}}`],
    ["an object's prototype", '{"__proto__":{"sub":"root"}}'],
  ])("with %s for a part is refused", async (_, text) => {
    const good = encodePart({ alg: "EdDSA", kid: "key-1" });
    for (const input of [
      `${encodePart(text)}.${encodePart(goodClaims())}`,
      `${good}.${encodePart(text)}`,
    ]) {
      expect(await judge(await signRaw(input))).toEqual(refused("the token is no signed JWT"));
    }
  });

  it("with another spelling of the same base64url is refused", async () => {
    const header = encodePart({ alg: "EdDSA", kid: "key-1" });
    // The last character's lowest bits encode nothing.
    const other =
      header.slice(0, -1) + String.fromCharCode(header.charCodeAt(header.length - 1) + 1);
    expect(Buffer.from(other, "base64url")).toEqual(Buffer.from(header, "base64url"));
    for (const spelled of [other, `${header}A`]) {
      const token = await signRaw(`${spelled}.${encodePart(goodClaims())}`);
      expect(await judge(token)).toEqual(refused("the token is no signed JWT"));
    }
  });

  it("with a kid that is no text is refused", async () => {
    const header = encodePart({ alg: "EdDSA", kid: 7 });
    expect(await judge(await signRaw(`${header}.${encodePart(goodClaims())}`))).toEqual(
      refused("the token is no signed JWT"),
    );
  });

  it("with an encrypted token is refused", async () => {
    expect(await judge("eyJhbGciOiJkaXIifQ..AAAA.AAAA.AAAA")).toEqual(
      refused("the token is no signed JWT"),
    );
  });

  function pem(jwk: JWK): string {
    return createPublicKey({ key: jwk, format: "jwk" }).export({
      type: "spki",
      format: "pem",
    }) as string;
  }

  function der(jwk: JWK): Buffer {
    return createPublicKey({ key: jwk, format: "jwk" }).export({ type: "spki", format: "der" });
  }
});

/** Signs what no honest library would. */
async function signRaw(input: string): Promise<string> {
  const signature = await crypto.subtle.sign("Ed25519", key.privateKey, Buffer.from(input));
  return `${input}.${Buffer.from(signature).toString("base64url")}`;
}

// RFC 7519 §4.1
describe("claims that do not hold", () => {
  const ISSUER_FAULT = "the token's issuer is not the expected one";
  const EXPIRY_FAULT = "the token has no usable expiry time";
  const ISSUE_FAULT = "the token's issue time is not plausible";

  it.each<readonly [string, Readonly<Record<string, unknown>>]>([
    [ISSUER_FAULT, { iss: undefined }],
    [ISSUER_FAULT, { iss: `${ISSUER}/` }],
    [ISSUER_FAULT, { iss: "https://ID.example" }],
    [ISSUER_FAULT, { iss: [ISSUER] }],
    ["the token has expired", { exp: NOW_S - 30, iat: NOW_S - 60 }],
    ["the token has expired", { exp: 0, iat: 0 }],
    [EXPIRY_FAULT, { exp: undefined }],
    [EXPIRY_FAULT, { exp: String(NOW_S + 60) }],
    [EXPIRY_FAULT, { exp: null }],
    [EXPIRY_FAULT, { exp: 1e300 }],
    ["the token is not valid yet", { nbf: NOW_S + 31 }],
    ["the token is not valid yet", { nbf: "now" }],
    [ISSUE_FAULT, { iat: NOW_S + 31 }],
    [ISSUE_FAULT, { iat: -1 }],
    [ISSUE_FAULT, { iat: "2030" }],
    [ISSUE_FAULT, { iat: NOW_S, exp: NOW_S - 1 }],
  ])("%s: %j", async (reason, claims) => {
    expect(await judge(await signToken(key, goodClaims(claims)))).toEqual(refused(reason));
  });

  it.each([undefined, "other", ["other"], [], "", `${AUDIENCE}/x`, { [AUDIENCE]: 1 }, 7])(
    "the audience is %j",
    async (aud) => {
      const token = await signToken(key, goodClaims({ aud }));
      expect(await judge(token, { audience: AUDIENCE })).toEqual(
        refused("the token is for another audience"),
      );
    },
  );

  // RFC 7800 §3, RFC 9449 §6
  it.each([
    { jkt: THUMBPRINT },
    { kid: "key-1" },
    { "x5t#S256": THUMBPRINT, jkt: THUMBPRINT },
    { "x5t#S256": `${THUMBPRINT}A` },
    { "x5t#S256": 7 },
    {},
    null,
    [],
    "x5t#S256",
  ])("it is bound by %j, which is not proven here", async (cnf) => {
    expect(await judge(await signToken(key, goodClaims({ cnf })))).toEqual(
      refused("the token is bound to a key that only other protocols prove"),
    );
  });

  it.each([
    ...[undefined, null, 7, true, ["ada"], { name: "ada" }, "", " ", " ada", "ada "],
    ...[
      "a\r\nb",
      "a\nb",
      "a\tb",
      "a\u0000",
      "a\u007f",
      "a\u0085b",
      "a\u2028b",
      "\u202eada",
      "日本",
    ],
    "x".repeat(257),
  ])("the principal is %j", async (sub) => {
    expect(await judge(await signToken(key, goodClaims({ sub })))).toEqual(
      refused("the token names no usable principal"),
    );
  });

  it.each(["a", "Ada Lovelace", "user|7", "José", "x".repeat(256), "<b>", "ada@example.org"])(
    "but the principal may be %j",
    async (sub) => {
      expect(await judge(await signToken(key, goodClaims({ sub })))).toMatchObject({
        kind: "valid",
        principalId: sub,
      });
    },
  );

  it.each(["__proto__", "constructor", "toString", "missing"])(
    "the principal claim %s is the token's own or none",
    async (principalClaim) => {
      expect(await judge(await signToken(key), { principalClaim })).toEqual(
        refused("the token names no usable principal"),
      );
    },
  );
});

describe("what is remembered", () => {
  it("is recalled without waiting until the token expires", async () => {
    const { verifier, clock, keys } = open();
    const token = `Bearer ${await signToken(key, goodClaims({ exp: NOW_S + 60 }))}`;
    expect(verifier.recall(token)).toBeUndefined();
    const verdict = await verifier.verify(token);
    expect(verdict).toMatchObject({ kind: "valid" });
    clock.now = NOW + 59_999;
    expect(verifier.recall(token)).toBe(verdict);
    expect(await verifier.verify(token)).toBe(verdict);
    expect(keys.asked).toHaveLength(1);
    clock.now = NOW + 60_000;
    expect(verifier.recall(token)).toBeUndefined();
    clock.now = NOW + 100_000;
    expect(await verifier.verify(token)).toEqual(refused("the token has expired"));
  });

  it("is verified again after five minutes", async () => {
    const { verifier, clock } = open();
    const token = `Bearer ${await signToken(key)}`;
    await verifier.verify(token);
    clock.now = NOW + 299_999;
    expect(verifier.recall(token)).toBeDefined();
    clock.now = NOW + 300_000;
    expect(verifier.recall(token)).toBeUndefined();
  });

  it("is a refusal for a few seconds", async () => {
    const { verifier, clock, keys } = open();
    const token = `Bearer ${await signToken(stranger)}`;
    const verdict = await verifier.verify(token);
    expect(verifier.recall(token)).toBe(verdict);
    expect(keys.asked).toHaveLength(1);
    clock.now = NOW + 5_000;
    expect(verifier.recall(token)).toBeUndefined();
  });

  it("is forgotten when the keys rotate", async () => {
    const { verifier, keys } = open();
    const token = `Bearer ${await signToken(key)}`;
    await verifier.verify(token);
    keys.rotate([rsa.jwk]);
    expect(verifier.recall(token)).toBeUndefined();
    expect(await verifier.verify(token)).toEqual(refused("no key of the issuer fits the token"));
    keys.rotate([key.jwk]);
    expect(await verifier.verify(token)).toEqual(accepted);
  });

  it("is not remembered where the keys rotate as soon as they were asked for", async () => {
    const { verifier, keys } = open();
    const ask = keys.keysFor.bind(keys);
    keys.keysFor = async (kid) => {
      const set = await ask(kid);
      keys.rotate([rsa.jwk]);
      // Others are judged under the new keys meanwhile.
      verifier.recall("Bearer a.b.c");
      return set;
    };
    const token = `Bearer ${await signToken(key)}`;
    await verifier.verify(token);
    expect(verifier.recall(token)).toBeUndefined();
  });

  it("is nothing while no keys can be had, which refuses every token", async () => {
    const { verifier, keys } = open();
    keys.rotate(undefined);
    const token = `Bearer ${await signToken(key)}`;
    expect(await verifier.verify(token)).toEqual(refused("keys unavailable"));
    expect(verifier.recall(token)).toBeUndefined();
    keys.rotate([key.jwk]);
    expect(await verifier.verify(token)).toEqual(accepted);
  });

  it("is the same under any spelling of the scheme", async () => {
    const { verifier } = open();
    const token = await signToken(key);
    const verdict = await verifier.verify(`Bearer ${token}`);
    expect(verifier.recall(`bearer  ${token}`)).toBe(verdict);
  });

  it("is not pushed out by a flood of forged tokens", async () => {
    const { verifier } = open();
    const token = `Bearer ${await signToken(key)}`;
    await verifier.verify(token);
    for (let count = 0; count < 20; count += 1) {
      const forged = Array.from({ length: 600 }, (_, index) =>
        verifier.verify(`Bearer ${encodePart({ alg: "none" })}.${count}.${index}`),
      );
      await Promise.all(forged);
    }
    expect(verifier.recall(token)).toEqual(accepted);
  });
});

describe("verifications at the same time", () => {
  it("of one token are one", async () => {
    const { verifier, keys } = open();
    const token = `Bearer ${await signToken(key)}`;
    const verdicts = await Promise.all(Array.from({ length: 50 }, () => verifier.verify(token)));
    expect(keys.asked).toHaveLength(1);
    expect(new Set(verdicts).size).toBe(1);
  });

  it("are bounded; what is over the bound is refused, and not remembered", async () => {
    const { verifier, keys } = open();
    const release = keys.hold();
    const good = await signToken(key);
    const header = encodePart({ alg: "EdDSA", kid: "key-1" });
    const flood = Array.from({ length: 1024 }, (_, index) =>
      verifier.verify(`Bearer ${header}.${encodePart({ index })}.AAAA`),
    );
    expect(await verifier.verify(`Bearer ${good}`)).toEqual(
      refused("too many tokens are being verified"),
    );
    expect(verifier.recall(`Bearer ${good}`)).toBeUndefined();
    release();
    await Promise.all(flood);
    expect(await verifier.verify(`Bearer ${good}`)).toEqual(accepted);
  });
});

describe("a verdict", () => {
  it("quotes nothing of the token", async () => {
    const { verifier } = open({ audience: AUDIENCE });
    const secret = "s3cr3t-marker";
    const tokens = await Promise.all([
      signToken(key, goodClaims({ iss: secret })),
      signToken(key, goodClaims({ aud: secret })),
      signToken(key, goodClaims({ sub: `${secret}\n` })),
      signToken(key, goodClaims({ exp: secret })),
      signToken(key, goodClaims(), { kid: secret }),
      signToken(key, goodClaims(), { typ: secret }),
      Promise.resolve(`${encodePart({ alg: secret })}.${encodePart({ secret })}.AAAA`),
      Promise.resolve(`${encodePart(secret)}.${secret}.${secret}`),
    ]);
    for (const token of tokens) {
      const verdict = await verifier.verify(`Bearer ${token}`);
      expect(verdict.kind).toBe("invalid");
      expect(JSON.stringify(verdict)).not.toContain(secret);
      for (const part of token.split(".")) expect(JSON.stringify(verdict)).not.toContain(part);
    }
  });
});
