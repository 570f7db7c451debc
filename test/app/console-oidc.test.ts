/** Signing in at an OpenID provider over HTTP: who is turned away, and that no start waits for it. */
import { describe, expect, it } from "vitest";
import { approvingFiles } from "../support/approving.ts";
import { type ConsoleAnswer, openConsole, type TestConsole } from "../support/console.ts";
import { type ForgingProvider, startForgingProvider } from "../support/forging-provider.ts";

async function openWith(there: ForgingProvider, changes: object = {}): Promise<TestConsole> {
  const oidc = {
    ...{ issuer: there.issuer, client_id: "agtpd", ca: "login-ca.pem", operators: ["staff"] },
    ...changes,
  };
  const files = await approvingFiles([], { console: { enabled: true, port: 0, oidc } });
  return openConsole({ ...files, "login-ca.pem": there.ca });
}

interface Begun {
  readonly cookie: string;
  readonly state: string;
  readonly nonce: string;
}

function press(
  house: TestConsole,
  fields: Readonly<Record<string, string>> = {},
): Promise<ConsoleAnswer> {
  const headers = { origin: house.origin, ...fields };
  return house.ask("/oidc/sign-in", { method: "POST", headers });
}

/** Presses the button: the cookie of the browser, and what the provider is told. */
async function begin(house: TestConsole, session = ""): Promise<Begun> {
  const { status, headers, text } = await press(house, { cookie: session });
  expect(status).toBe(200);
  const [cookie = ""] = (headers.get("set-cookie") ?? "").split(";");
  const [, address = ""] = /content="0; url=([^"]*)"/.exec(text) ?? [];
  const { searchParams } = new URL(address.replaceAll("&amp;", "&"));
  const of = (name: string): string => searchParams.get(name) ?? "";
  expect(of("redirect_uri")).toBe(`${house.origin}/oidc/callback`);
  return { cookie, state: of("state"), nonce: of("nonce") };
}

function comeBack(
  house: TestConsole,
  there: ForgingProvider,
  { cookie, state }: Pick<Begun, "cookie" | "state">,
): Promise<ConsoleAnswer> {
  const query = new URLSearchParams({ code: "c", state, iss: there.issuer });
  return house.ask(`/oidc/callback?${query}`, { headers: { cookie } });
}

describe("signing in at a provider", () => {
  it("begins a session in the person's name, once", async () => {
    const there = await startForgingProvider();
    const house = await openWith(there);
    const begun = await begin(house);
    expect(begun.cookie).toMatch(/^agtpd_console_9f86d081_oidc=/);
    there.forge({}, begun.nonce);
    const back = await comeBack(house, there, begun);
    expect(back.status).toBe(200);
    const cookies = back.headers.getSetCookie();
    expect(cookies[0]).toMatch(/^agtpd_console_9f86d081_oidc=; .*SameSite=Lax; Max-Age=0$/);
    const [cookie = ""] = (cookies[1] ?? "").split(";");
    const { body } = await house.ask("/api/session", { headers: { cookie } });
    expect(body).toMatchObject({ name: "Ada", role: "operator" });
    const again = await comeBack(house, there, begun);
    expect([again.status, again.headers.getSetCookie()]).toEqual([403, []]);
    expect(again.text).toContain("This sign-in was begun in another browser, was used already");
    // The code is not even shown to the provider a second time.
    expect(there.asked.filter((path) => path === "/token")).toHaveLength(1);
  });

  it("ends the session that the browser had, and leads to the page that was asked for", async () => {
    const there = await startForgingProvider();
    const house = await openWith(there);
    const nina = await house.signIn({ name: "Nina" });
    // Another port of the host has set one of the same name.
    const begun = await begin(house, `agtpd_console_9f86d081=${"x".repeat(43)}; ${nina.cookie}`);
    there.forge({}, begun.nonce);
    // An answer that comes from another host brings no session along.
    const cookie = `${begun.cookie}; agtpd_console_9f86d081_page=${encodeURIComponent("/traffic?a=1&b=%22")}`;
    const { text, headers } = await comeBack(house, there, { ...begun, cookie });
    expect(text).toContain('content="0; url=/traffic?a=1&amp;b=%22"');
    const [, session = "", gone] = headers.getSetCookie();
    expect(gone).toMatch(/^agtpd_console_9f86d081_page=; .*Max-Age=0$/);
    expect((await nina.get("/api/session")).status).toBe(401);
    const own = { cookie: session.split(";")[0] ?? "" };
    expect((await house.ask("/api/session", { headers: own })).status).toBe(200);
  });

  it("calls a person by a name of whole characters, however long the provider's is", async () => {
    const there = await startForgingProvider();
    const house = await openWith(there);
    const begun = await begin(house);
    there.forge({ claims: { name: `${"a".repeat(127)}\u{1f600}` } }, begun.nonce);
    const [, set = ""] = (await comeBack(house, there, begun)).headers.getSetCookie();
    const [cookie = ""] = set.split(";");
    const { body } = await house.ask("/api/session", { headers: { cookie } });
    expect(body.name).toBe(`${"a".repeat(127)}\ufffd`);
  });

  // OpenID Connect Core §5.1: whoever registers there may have written any address.
  it.each([
    [403, { email_verified: false }],
    [403, { email_verified: "false" }],
    [200, { email_verified: true }],
    [200, {}],
  ])("answers %d to an address in a list with %o", async (status, claims) => {
    const there = await startForgingProvider();
    const email = "chief@hotel.example";
    const house = await openWith(there, { role_claim: "email", operators: [email] });
    const begun = await begin(house);
    there.forge({ claims: { email, ...claims } }, begun.nonce);
    expect((await comeBack(house, there, begun)).status).toBe(status);
  });

  it("is for the browser that began it, with its own state", async () => {
    const there = await startForgingProvider();
    const house = await openWith(there);
    const [one, other] = [await begin(house), await begin(house)];
    const tries = [
      { cookie: "", state: one.state },
      { cookie: other.cookie, state: one.state },
      { cookie: one.cookie, state: "" },
      { cookie: `${one.cookie.slice(0, -4)}AAAA`, state: one.state },
      { cookie: "agtpd_console_9f86d081_oidc=x", state: one.state },
    ];
    for (const each of tries) {
      const { status, headers } = await comeBack(house, there, each);
      expect([status, headers.getSetCookie()]).toEqual([403, []]);
    }
    expect((await house.ask("/oidc/callback")).status).toBe(403);
    expect(there.asked).not.toContain("/token");
  });

  it("is begun by the console's own page alone, at its own name", async () => {
    const there = await startForgingProvider();
    const house = await openWith(there);
    expect((await press(house, { origin: "https://evil.example" })).status).toBe(403);
    const { port } = new URL(house.origin);
    const address = `http://127.0.0.1:${port}`;
    const response = await fetch(`${address}/oidc/sign-in`, {
      ...{ method: "POST", headers: { origin: address } },
    });
    expect(response.headers.getSetCookie()).toEqual([]);
    expect(await response.text()).toContain(`url=${house.origin}/sign-in"`);
    expect(there.asked).toEqual([]);
  });

  it("does not keep a start waiting, and says what is wrong with the provider", async () => {
    const there = await startForgingProvider();
    const paths = { "/.well-known/openid-configuration": () => undefined };
    there.forge({ paths });
    const house = await openWith(there, { issuer: "http://127.0.0.1:1" });
    const { status, text, headers } = await press(house);
    expect([status, headers.getSetCookie()]).toEqual([502, []]);
    expect(text).toContain("The provider cannot be reached.");
    expect(house.log.find(({ event }) => event === "console-sign-in-refused")).toMatchObject({
      ...{ kind: "unreachable", reason: "ECONNREFUSED", level: "warn" },
    });
    expect(there.asked).toEqual([]);
    // Links go on to be good.
    expect((await (await house.signIn()).get("/api/agents")).status).toBe(200);
  });

  it("shows no provider's text, and no button where there is none", async () => {
    const there = await startForgingProvider();
    const house = await openWith(there);
    const begun = await begin(house);
    there.forge({ claims: { groups: "<b>staff" } }, begun.nonce);
    const refused = await comeBack(house, there, begun);
    expect([refused.status, refused.headers.getSetCookie()[1]]).toEqual([403, undefined]);
    expect(refused.text).not.toContain("<b>");
    const plain = await openConsole();
    expect((await plain.ask("/sign-in")).text).not.toContain("/oidc/");
    expect((await plain.ask("/oidc/callback")).status).toBe(404);
  });
});
