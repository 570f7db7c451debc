/** How values travel to an external service: formats of bodies, styles, fields in headers. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sharedEncoding } from "../../src/base/kept-text.ts";
import type { ExternalServiceBinding } from "../../src/endpoint/endpoint.ts";
import { PLAIN_ENCODING, type UpstreamEncoding } from "../../src/endpoint/upstream-format.ts";
import { createExternalService } from "../../src/handlers/external-service.ts";
import type { HandlerResult } from "../../src/handlers/handler.ts";
import { createUpstreamPools, type UpstreamPools } from "../../src/handlers/upstream-pools.ts";
import { parseUpstreamUrl } from "../../src/handlers/upstream-url.ts";
import { makeUpstreamBinding } from "../support/endpoint-definition.ts";
import { makeCall } from "../support/handler-call.ts";
import { type HttpsUpstream, type SeenRequest, startUpstream } from "../support/https-upstream.ts";

let upstream: HttpsUpstream;
let pools: UpstreamPools;

beforeAll(async () => {
  upstream = await startUpstream();
  pools = createUpstreamPools();
});
afterAll(async () => {
  await pools.close();
  await upstream.close();
});

type Choice = Partial<ExternalServiceBinding> & { readonly how: Partial<UpstreamEncoding> };
type Input = Readonly<Record<string, unknown>>;

function bind({ how, ...rest }: Choice, declared: readonly string[] = []) {
  const encoding = { ...PLAIN_ENCODING, ...how };
  const binding = makeUpstreamBinding({
    ...{ url: `${upstream.origin}/things`, ca: upstream.ca, encoding },
    ...rest,
  });
  const url = parseUpstreamUrl(binding.url);
  if (typeof url === "string") throw new Error(url);
  return createExternalService(binding, url, pools, declared);
}

async function ask(choice: Choice, input: Input): Promise<HandlerResult> {
  return bind(choice).handler(makeCall({ input }));
}

async function seen(choice: Choice, input: Input): Promise<SeenRequest> {
  upstream.respondJson(200, {});
  expect(await ask(choice, input)).toEqual({ body: {} });
  const request = upstream.seen.at(-1);
  if (request === undefined) throw new Error("the upstream was not asked");
  return request;
}

// RFC 3629 §3
describe("a text with half of a surrogate pair", () => {
  it.each<[string, Choice]>([
    ["a query", { method: "GET", how: {} }],
    ["a mapped parameter", { query: { text: "t" }, how: {} }],
    ["a form", { how: { bodyFormat: "form" } }],
    ["parts", { how: { bodyFormat: "multipart" } }],
    ["a text", { how: { bodyFormat: "text", bodyField: "text" } }],
    ["what stands beside a body", { how: { bodyField: "other" } }],
  ])("is refused where another character would leave: %s", (_, choice) => {
    const { precheck } = bind(choice);
    const message = "must be well-formed text";
    for (const text of ["a\ud800", [{ "\udc00": 1 }]]) {
      expect(precheck({ text })).toEqual([{ path: "/text", keyword: "format", message }]);
    }
    expect(precheck({ text: ["\ud83d\ude00", null] })).toBeUndefined();
  });

  it("is in JSON as it was sent", async () => {
    expect(bind({ how: {} }).precheck({ text: "a\ud800" })).toBeUndefined();
    const { body } = await seen({ how: {} }, { text: "a\ud800" });
    expect(String(body)).toBe(String.raw`{"text":"a\ud800"}`);
  });
});

// AGTP-API §12.3
describe("a body", () => {
  it("is a form, with lists repeated and objects in brackets where they are deep", async () => {
    const { body, headers } = await seen(
      {
        how: { bodyFormat: "form", styles: { meta: "deep", tags: "comma" } },
        inputTransform: { meta: "metadata" },
      },
      {
        amount: 20,
        meta: { order: "7", lines: ["a b", "c"] },
        tags: ["x", "y"],
        expand: ["p", "q"],
      },
    );
    expect(headers["content-type"]).toBe("application/x-www-form-urlencoded");
    expect([...new URLSearchParams(body)].toSorted()).toEqual([
      ["amount", "20"],
      ["expand", "p"],
      ["expand", "q"],
      ["metadata[lines][0]", "a b"],
      ["metadata[lines][1]", "c"],
      ["metadata[order]", "7"],
      ["tags", "x,y"],
    ]);
  });

  it("is one field of the input, whatever it is, and the rest goes into the query", async () => {
    const how = { bodyField: "body" } as const;
    const { body, url } = await seen({ how }, { body: [1, { a: 2 }], dry: true });
    expect(JSON.parse(body)).toEqual([1, { a: 2 }]);
    expect(url).toBe("/things?dry=true");
  });

  it("is absent when its field is", async () => {
    const { body, headers } = await seen({ how: { bodyField: "body" } }, {});
    expect(body).toBe("");
    expect(headers["content-type"]).toBeUndefined();
  });

  it("is absent where none is written, and the rest goes into the query", async () => {
    for (const method of ["POST", "PUT", "PATCH"] as const) {
      const { body, headers, url } = await seen({ method, how: { bodyFormat: "none" } }, { a: 1 });
      expect([url, body, headers["content-type"]]).toEqual(["/things?a=1", "", undefined]);
    }
  });

  it("is sent with DELETE when a format is written", async () => {
    const { method, body, url } = await seen(
      { method: "DELETE", how: { bodyFormat: "json" } },
      { names: ["a"] },
    );
    expect([method, url]).toEqual(["DELETE", "/things"]);
    expect(JSON.parse(body)).toEqual({ names: ["a"] });
  });

  it("is the bytes that base64 stands for", async () => {
    const { body, headers } = await seen(
      {
        how: { bodyFormat: "binary", bodyField: "content" },
        headers: { "Content-Type": "image/png" },
      },
      { content: Buffer.from("not really a picture").toString("base64") },
    );
    expect(body).toBe("not really a picture");
    expect(headers["content-type"]).toBe("image/png");
  });

  it("is a text as it is", async () => {
    const how = { bodyFormat: "text", bodyField: "note" } as const;
    const { body, headers } = await seen({ how }, { note: '"ä"' });
    expect(body).toBe('"ä"');
    expect(headers["content-type"]).toBe("text/plain;charset=utf-8");
  });

  it("is made of parts, and nothing in a name leaves its quotes", async () => {
    const file = { base64: Buffer.from("hello").toString("base64"), media_type: "text/plain" };
    const { body, headers } = await seen(
      { how: { bodyFormat: "multipart" } },
      {
        note: "x",
        'file"\r\nX: y': { ...file, filename: 'a"\r\nb.txt' },
        tags: [1, 2],
        o: { a: 1 },
      },
    );
    const [, boundary] = /^multipart\/form-data; boundary=(.+)$/.exec(
      headers["content-type"] ?? "",
    ) ?? [undefined, "none"];
    expect(body.split(`--${boundary}`)).toEqual([
      "",
      '\r\nContent-Disposition: form-data; name="note"\r\n\r\nx\r\n',
      '\r\nContent-Disposition: form-data; name="file%22%0D%0AX: y"; filename="a%22%0D%0Ab.txt"\r\n' +
        "Content-Type: text/plain\r\n\r\nhello\r\n",
      '\r\nContent-Disposition: form-data; name="tags"\r\n\r\n1\r\n',
      '\r\nContent-Disposition: form-data; name="tags"\r\n\r\n2\r\n',
      '\r\nContent-Disposition: form-data; name="o"\r\nContent-Type: application/json\r\n\r\n{"a":1}\r\n',
      "--\r\n",
    ]);
  });

  // Decoding would make something else of it, or nothing, and the upstream would keep that.
  it.each([
    ["multipart", undefined, { file: { base64: "!!" } }, "/file/base64"],
    ["multipart", undefined, { "a/b": [{ base64: "aGk=" }, { base64: "a" }] }, "/a~1b/1/base64"],
    ["multipart", "body", { body: { file: { base64: "aGk=\n" } } }, "/body/file/base64"],
    ["binary", "content", { content: "aGk=x" }, "/content"],
    ["binary", "content", { content: "abcde" }, "/content"],
    ["binary", "content", { content: 7 }, "/content"],
  ] as const)(
    "of %s is not asked for with what is no base64",
    (bodyFormat, bodyField, input, at) => {
      const how = { bodyFormat, ...(bodyField === undefined ? {} : { bodyField }) };
      expect(bind({ how }).precheck?.(input)).toEqual([
        { path: at, keyword: "contentEncoding", message: "must be base64" },
      ]);
    },
  );

  it.each([
    ["multipart", undefined, { file: { base64: "aGk=" }, other: { base64: "aGk" }, note: "!!" }],
    ["multipart", "body", {}],
    ["binary", "content", { content: "" }],
    ["form", undefined, { file: { base64: "!!" } }],
  ] as const)("of %s takes what can be sent", (bodyFormat, bodyField, input) => {
    const how = { bodyFormat, ...(bodyField === undefined ? {} : { bodyField }) };
    expect(bind({ how }).precheck?.(input)).toBeUndefined();
  });

  // Each of the items has the name again: 400 KB would become gigabytes.
  it.each([
    ["form, in brackets", { bodyFormat: "form", styles: { f: "deep" } }],
    ["form", { bodyFormat: "form", bodyField: "f" }],
    ["parts", { bodyFormat: "multipart", bodyField: "f" }],
    ["query, in brackets", { styles: { f: "deep" } }],
  ] as const)("is not written as a %s when long names would stand there too often", (_, how) => {
    const named = (length: number) => ({ f: { ["k".repeat(length)]: Array(4_000).fill(1) } });
    expect(bind({ how }).precheck?.(named(400_000))).toMatchObject([
      { path: "/f", keyword: "maxLength" },
    ]);
    expect(bind({ how }).precheck?.(named(200))).toBeUndefined();
    // Of JSON nothing is repeated.
    expect(bind({ how: {} }).precheck?.(named(400_000))).toBeUndefined();
  });
});

describe("the query", () => {
  it.each([
    ["comma", "ids=1,2%2C3"],
    ["space", "ids=1%202%2C3"],
    ["pipe", "ids=1%7C2%2C3"],
    ["deep", "ids%5B0%5D=1&ids%5B1%5D=2%2C3"],
    ["json", "ids=%5B1%2C%222%2C3%22%5D"],
    ["explode", "ids=1&ids=2%2C3"],
    [undefined, "ids=1&ids=2%2C3"],
  ] as const)("writes a list in the style %s", async (style, query) => {
    const styles = style === undefined ? {} : { list: style };
    const choice = { method: "GET", query: { list: "ids" }, how: { styles } } as const;
    expect((await seen(choice, { list: [1, "2,3"] })).url).toBe(`/things?${query}`);
  });

  it.each([
    ["comma", "color=R,100,G,x%20%26"],
    ["space", "color=R%20100%20G%20x%20%26"],
    ["pipe", "color=R%7C100%7CG%7Cx%20%26"],
    ["deep", "color%5BR%5D=100&color%5BG%5D=x%20%26"],
    ["explode", "R=100&G=x%20%26"],
    ["json", "color=%7B%22R%22%3A100%2C%22G%22%3A%22x%20%26%22%2C%22B%22%3Anull%7D"],
  ] as const)("writes an object in the style %s", async (style, query) => {
    const styles = { color: style };
    const choice = { method: "GET", query: { color: "color" }, how: { styles } } as const;
    const input = { color: { R: 100, G: "x &", ...(style === "json" ? { B: null } : {}) } };
    expect((await seen(choice, input)).url).toBe(`/things?${query}`);
  });

  // RFC 6570 §2.3
  it.each(["comma", "space", "pipe", "deep", "explode", undefined] as const)(
    "has no list or object that is empty, in the style %s",
    async (style) => {
      const styles = style === undefined ? {} : { list: style };
      const choice = { method: "GET", query: { list: "ids" }, how: { styles } } as const;
      const empty = style === undefined ? [[], [null]] : [[], [null], {}, { R: null }];
      for (const list of empty) expect((await seen(choice, { list })).url).toBe("/things");
    },
  );

  it("takes no member for another parameter", () => {
    const url = `${upstream.origin}/things?key=1`;
    const how = { styles: { free: "explode" } } as const;
    const { precheck } = bind({ url, method: "GET", query: { free: "free", page: "p" }, how });
    expect(precheck({ free: { key: "2", p: 3, page: 4 } })).toMatchObject([
      { path: "/free/key", keyword: "propertyNames" },
      { path: "/free/p", keyword: "propertyNames" },
    ]);
    expect(precheck({ free: { page: 4 } })).toBeUndefined();
  });

  it.each<[string, Choice]>([
    ["in a query", { method: "GET", how: {} }],
    ["in a form", { how: { bodyFormat: "form" } }],
    ["beside a body", { query: { free: "free" }, how: { bodyField: "other" } }],
  ])("takes no member for a declared field that is sent under its own name %s", (_, choice) => {
    const how = { ...choice.how, styles: { free: "explode" } } as const;
    const inputTransform = { page: "p" };
    const fields = ["free", "limit", "page", "other"];
    const { precheck } = bind({ ...choice, how, inputTransform }, fields);
    // Not even where the field itself is left out.
    expect(precheck({ free: { limit: 1_000, p: 2 } })).toMatchObject([
      { path: "/free/limit", keyword: "propertyNames" },
      { path: "/free/p", keyword: "propertyNames" },
    ]);
    expect(precheck({ free: { page: 4, theirs: 2 } })).toBeUndefined();
  });

  it("takes a member of the query for no field of a JSON body", () => {
    const how = { styles: { free: "explode" } } as const;
    const { precheck } = bind({ query: { free: "free" }, how }, ["free", "limit"]);
    expect(precheck({ free: { limit: 1 } })).toBeUndefined();
  });
});

describe("a field in a header", () => {
  const choice = { method: "GET", how: { headerFields: { key: "Idempotency-Key" } } } as const;

  it("is in no other place", async () => {
    const { headers, url } = await seen(choice, { key: ["a", "b"], page: 2 });
    expect(headers["idempotency-key"]).toBe("a,b");
    expect(url).toBe("/things?page=2");
  });

  it.each([
    ["explode", "R=100,G=a b"],
    ["json", '{"R":100,"G":"a b"}'],
    [undefined, "R,100,G,a b"],
  ] as const)("has its members in the style %s", async (style, text) => {
    const styles = style === undefined ? {} : { key: style };
    const how = { ...choice.how, styles };
    const { headers } = await seen({ ...choice, how }, { key: { R: 100, G: "a b" } });
    expect(headers["idempotency-key"]).toBe(text);
  });

  it.each(["a\r\nX-Admin: 1", "\u0000", "snow ☃", " padded", "padded\t"])(
    "is refused with the value %j",
    (key) => {
      const { precheck } = bind(choice);
      expect(precheck({ key })).toMatchObject([{ path: "/key", keyword: "format" }]);
      expect(precheck({ key: "plain" })).toBeUndefined();
    },
  );

  it("is refused as content that is no base64", () => {
    const { precheck } = bind({ how: { bodyFormat: "binary", bodyField: "content" } });
    expect(precheck({ content: "<>" })).toMatchObject([{ path: "/content" }]);
    expect(precheck({})).toBeUndefined();
  });
});

describe("a response", () => {
  it("is text with its type", async () => {
    upstream.respond((response) =>
      response.writeHead(200, { "content-type": "text/csv" }).end("a;b"),
    );
    expect(await ask({ method: "GET", how: { responseFormat: "text" } }, {})).toEqual({
      body: { text: "a;b", media_type: "text/csv" },
    });
    expect(upstream.seen.at(-1)?.headers.accept).toBe("*/*");
  });

  it("is the list of its lines, or of its events, as they were written", async () => {
    const ours = { outputTransform: { id: "ID" } };
    upstream.respond((response) => response.end('\ufeff{"ID":9007199254740993}\n7\n'));
    const lines = await ask({ method: "GET", how: { responseFormat: "json_lines" }, ...ours }, {});
    const { body } = lines as { body: object };
    expect(sharedEncoding(body)).toBe('[{"id":9007199254740993},7]');
    expect(upstream.seen.at(-1)?.headers.accept).toContain("application/x-ndjson");
    upstream.respond((response) => response.end('{"a":1}\n{"a"'));
    expect(await ask({ method: "GET", how: { responseFormat: "json_lines" } }, {})).toMatchObject({
      error: "upstream_malformed_response",
      message: "the upstream's response has a line that is not JSON",
    });
    upstream.respond((response) => response.end("event: up\ndata: 1\n\ndata: 2\n\n"));
    const how = { responseFormat: "events" } as const;
    expect(await ask({ method: "GET", how, outputTransform: { text: "data" } }, {})).toEqual({
      body: [{ event: "up", text: "1" }, { text: "2" }],
    });
    expect(upstream.seen.at(-1)?.headers.accept).toBe("text/event-stream");
    upstream.respond((response) => response.end());
    for (const responseFormat of ["events", "json_lines"] as const) {
      expect(await ask({ method: "GET", how: { responseFormat } }, {})).toEqual({ body: [] });
    }
  });

  it.each([
    ["iso-8859-1", Buffer.from([0xe9, 0xc3, 0xa9]), "é\u00c3\u00a9"],
    ['"UTF-16LE"', Buffer.from("hé", "utf16le"), "hé"],
    ["Shift_JIS", Buffer.from([0x83, 0x65]), "テ"],
    // A text that is ASCII by its own word is UTF-8 as well.
    ["us-ascii", Buffer.from("é"), "é"],
    ["utf8", Buffer.from("é"), "é"],
  ])("is text in the charset that its type names: %s", async (charset, octets, text) => {
    const type = `text/plain; format=flowed; Charset=${charset}`;
    upstream.respond((response) => response.writeHead(200, { "content-type": type }).end(octets));
    const result = await ask({ method: "GET", how: { responseFormat: "text" } }, {});
    expect(result).toEqual({ body: { text, media_type: type } });
  });

  it.each([
    ["x-nobodys", "text"],
    ["utf-16be", "t"],
  ])("is malformed where it is no text of its charset: %s", async (charset, octets) => {
    const type = `text/plain; charset=${charset}`;
    upstream.respond((response) => response.writeHead(200, { "content-type": type }).end(octets));
    const result = await ask({ method: "GET", how: { responseFormat: "text" } }, {});
    expect(result).toMatchObject({ error: "upstream_malformed_response" });
  });

  it("is bytes as base64", async () => {
    upstream.respond((response) => response.writeHead(200).end(Buffer.from([0xff, 0x00])));
    expect(await ask({ method: "GET", how: { responseFormat: "binary" } }, {})).toEqual({
      body: { base64: "/wA=", media_type: "application/octet-stream" },
    });
    expect(await ask({ method: "GET", how: { responseFormat: "text" } }, {})).toMatchObject({
      error: "upstream_malformed_response",
    });
  });
});
