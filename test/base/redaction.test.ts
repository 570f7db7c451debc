/** Secrets, and what looks like one, on their way into events. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { atOnce } from "../../src/base/paced.ts";
import { RedactedStream } from "../../src/base/redaction.ts";
import { collectingSecrets } from "../../src/modules/openwop/host-agents.ts";
import { cpuMs } from "../support/cpu-time.ts";
import { openwopConfig, redactorOf } from "../support/openwop.ts";

const AGENT_ID = "0123456789abcdef".repeat(4);
const CANARY = "sk-canary-rfc0064-do-not-leak-xyz789";

describe("text", () => {
  it.each([
    ["a key by its prefix", `use ${CANARY} now`, "use [REDACTED:api-key] now"],
    ["another one", "xai-abcdefgh1234", "[REDACTED:api-key]"],
    ["a token of a forge", `ghp_${"a1".repeat(18)}`, "[REDACTED:api-key]"],
    [
      "a bearer token",
      "Authorization: Bearer abc.def-ghi",
      "Authorization: [REDACTED:bearer-token]",
    ],
    ["basic credentials", "basic dXNlcjpwYXNz MTIz", "[REDACTED:basic-token] MTIz"],
    ["a JSON Web Token", "eyJhbGciOiJub25l.eyJzdWIi.c2ln", "[REDACTED:token]"],
    ["a password in a URL", "postgres://me:hunter2@db/x", "postgres://me:[REDACTED:password]@db/x"],
    [
      "a private key",
      "-----BEGIN PRIVATE KEY-----\nMC4CAQ\n-----END PRIVATE KEY----- end",
      "[REDACTED:private-key] end",
    ],
    ["a private key that is cut", "-----BEGIN RSA PRIVATE KEY-----\nMC4", "[REDACTED:private-key]"],
  ])("loses %s", (_, text, redacted) => {
    expect(redactorOf().text(text)).toBe(redacted);
  });

  it.each([
    ["an Agent-ID", `the agent ${AGENT_ID} did it`],
    ["words that begin like schemes", "a basic understanding of the task-force"],
    ["a UUID", "0197f6e0-1234-7abc-8def-0123456789ab"],
    ["a digest with its name", `sha256:${AGENT_ID}`],
  ])("keeps %s", (_, text) => {
    expect(redactorOf().text(text)).toBe(text);
  });

  it("shows a known secret by its name, the longer one first", () => {
    const redactor = redactorOf({ SHORT_KEY: "opensesame", LONG_KEY: "opensesame-please" });
    expect(redactor.text("opensesame-please or opensesame")).toBe(
      "[REDACTED:LONG_KEY] or [REDACTED:SHORT_KEY]",
    );
  });

  it("keeps an Agent-ID that has a known secret in it", () => {
    const redactor = redactorOf({ HEX_KEY: AGENT_ID.slice(3, 20) });
    expect(redactor.text(AGENT_ID)).toBe(AGENT_ID);
    expect(redactor.text(AGENT_ID.slice(3, 20))).toBe("[REDACTED:HEX_KEY]");
  });

  it("takes no longer for hostile texts", () => {
    const startedAt = cpuMs();
    for (const piece of [
      "://a:",
      "-----BEGIN ",
      "bearer ",
      "basic aaaa",
      "eyJ",
      "eyJ-",
      "sk-",
      "eyJaaaaaaaa.",
    ]) {
      redactorOf({ K: "opensesame" }).text(piece.repeat(50_000));
    }
    expect(cpuMs() - startedAt).toBeLessThan(5000);
  });
});

describe("value", () => {
  it("redacts texts, names and what names say is a credential", () => {
    const redactor = redactorOf({ DOOR: "opensesame" });
    expect(
      redactor.value({
        list: ["opensesame", 1, null, true],
        opensesame: { "api-key": "anything", apiKeys: "kept", password: "" },
      }),
    ).toEqual({
      list: ["[REDACTED:DOOR]", 1, null, true],
      "[REDACTED:DOOR]": { "api-key": "[REDACTED:api-key]", apiKeys: "kept", password: "" },
    });
  });

  it("redacts every text and number in what is a credential by its name", () => {
    const written = { password: 12345678, credentials: [{ user: "me", isNew: true }, "x", null] };
    expect(redactorOf().value(written)).toEqual({
      password: "[REDACTED:password]",
      credentials: [
        { user: "[REDACTED:credentials]", isNew: true },
        ...["[REDACTED:credentials]", null],
      ],
    });
  });

  it("takes not much longer for many short texts than to read them", () => {
    const redactor = redactorOf({ DOOR: "opensesame" });
    const leastMs = (work: () => unknown): number => {
      const spent = Array.from({ length: 7 }, () => {
        const startedAt = cpuMs();
        work();
        return cpuMs() - startedAt;
      });
      return Math.min(...spent);
    };
    const texts = Array.from({ length: 49_000 }, () => "abcdefghijkl");
    const readMs = leastMs(() => JSON.parse(JSON.stringify(texts)));
    // An iterator over the matches of each form takes far longer than the look for them.
    expect(leastMs(() => redactor.value(texts))).toBeLessThan(16 * readMs);
  });

  it("leaves alone what has no secret", () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false, maxDepth: 4 }), (value) => {
        const redacted = redactorOf().value(value);
        expect(redactorOf().value(redacted)).toEqual(redacted);
      }),
    );
  });
});

describe("properties of redaction", () => {
  const words = fc.array(fc.string({ unit: "grapheme-ascii", maxLength: 12 }), { maxLength: 8 });
  const secret = fc.stringMatching(/^[A-Za-z0-9+/_-]{8,40}$/);

  it("no known secret survives, wherever it is put", () => {
    fc.assert(
      fc.property(words, secret, words, (before, value, after) => {
        const redactor = redactorOf({ PLANTED: value });
        const text = [...before, value, ...after].join(" ");
        expect(redactor.text(text)).not.toContain(value);
        expect(JSON.stringify(redactor.value({ a: [text], [text]: 1 }))).not.toContain(value);
      }),
    );
  });

  it("every Agent-ID survives among other words", () => {
    const agentId = fc.stringMatching(/^[0-9a-f]{64}$/);
    fc.assert(
      fc.property(agentId, secret, (id, value) => {
        fc.pre(!value.includes(id));
        expect(redactorOf({ PLANTED: value }).text(`agent ${id} did it`)).toBe(
          `agent ${id} did it`,
        );
      }),
    );
  });

  it("is the same whether a text is redacted once or twice", () => {
    fc.assert(
      fc.property(words, secret, (before, value) => {
        const redactor = redactorOf({ PLANTED: value });
        const once = redactor.text(`${before.join(" ")} ${value} ${CANARY}`);
        expect(redactor.text(once)).toBe(once);
      }),
    );
  });

  it("no secret survives in pieces, and nothing else is lost", () => {
    const planted = fc.constantFrom(CANARY, "Bearer abcdefgh12345", "open sesame please");
    fc.assert(
      fc.property(
        words,
        planted,
        words,
        fc.integer({ min: 1, max: 9 }),
        (before, value, after, size) => {
          const redactor = redactorOf({ SPACED: "open sesame please" });
          const text = [...before, value, ...after].join(" ");
          const stream = new RedactedStream(redactor);
          let shown = "";
          for (let at = 0; at < text.length; at += size)
            shown += stream.push(text.slice(at, at + size));
          shown += stream.end();
          expect(shown).not.toContain(value);
          expect(shown).toContain("[REDACTED:");
          expect(redactor.text(shown)).toBe(shown);
        },
      ),
    );
  });

  it("shows a stream as it comes, word by word", () => {
    const stream = new RedactedStream(redactorOf());
    expect(stream.push("The guest asks ")).toBe("The guest asks ");
    expect(stream.push("for sk-")).toBe("for ");
    expect(stream.push("abcdefgh ")).toBe("[REDACTED:api-key] ");
    expect(stream.end()).toBe("");
  });

  it("takes a stream of one endless word without holding up", () => {
    const stream = new RedactedStream(redactorOf());
    const startedAt = cpuMs();
    let shown = "";
    for (let at = 0; at < 20_000; at += 1) shown += stream.push("x");
    shown += stream.end();
    expect(shown).toHaveLength(20_000);
    expect(cpuMs() - startedAt).toBeLessThan(5000);
  });
});

describe("the secrets that a server knows", () => {
  it("are its configuration's and its environment's, by name", () => {
    const config = openwopConfig({
      runtime: {
        kind: "openai-compatible",
        base_url: "http://127.0.0.1:1/v1",
        api_key: "model-key-value",
      },
    });
    const env = {
      BOOKING_API_TOKEN: "token-of-the-booking",
      TOKEN_MODE: "none",
      KEY_FILE: "/etc/keys/one.pem",
      PATH: "/usr/bin",
    };
    expect(atOnce(collectingSecrets(config, env, []))).toEqual([
      { name: "BOOKING_API_TOKEN", value: "token-of-the-booking" },
      { name: "openwop.runtime.api_key", value: "model-key-value" },
    ]);
  });
});
