/** Sessions over HTTP: how long they last by the settings that are in force, and their streams. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { approvingFiles } from "../support/approving.ts";
import { CONSOLE, openConsole, type TestConsole } from "../support/console.ts";
import { configFile } from "../support/deployment.ts";

const filesOf = (minutes: number) =>
  approvingFiles([], { console: { enabled: true, port: 0, session_minutes: minutes } });

async function reload(house: TestConsole, minutes: number): Promise<void> {
  const { "agtp-server.toml": config = "" } = await filesOf(minutes);
  writeFileSync(join(house.directory, "agtp-server.toml"), config);
  expect(await house.daemon.reload()).toEqual([]);
}

function pass(minutes: number): void {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + minutes * 60_000 });
  onTestFinished(() => void vi.useRealTimers());
}

it("is for nobody whose name is more than a line of text", async () => {
  const house = await openConsole(await filesOf(5));
  for (const name of ["nina\nroot", "\u001b[2Jnina", "nina\u2028", "\ud800"]) {
    await expect(house.link({ name })).rejects.toThrow("name must have no control");
  }
  expect(await house.link({ name: "Nína O’Hara" })).toMatch(/link=/);
});

it("is found beside a cookie of the same name that another port of the host has set", async () => {
  const house = await openConsole(await filesOf(5));
  const link = new URL(await house.link());
  const signedIn = await house.ask("/sign-in", {
    method: "POST",
    headers: {
      origin: house.origin,
      "content-type": "application/x-www-form-urlencoded",
    },
    body: link.search.slice(1),
  });
  const [own = ""] = (signedIn.headers.get("set-cookie") ?? "").split(";");
  const [name = ""] = own.split("=");
  for (const cookie of [own, `${name}=other; ${own}`, `${own}; ${name}=`, `a=b;${name}; ${own}`]) {
    expect((await house.ask("/api/session", { headers: { cookie } })).status).toBe(200);
  }
  const strange = `${name}=a; ${name}=; ${name}`;
  expect((await house.ask("/api/session", { headers: { cookie: strange } })).status).toBe(401);
});

/** The cookies of one browser, which asks for no port of the host that it sends them to. */
function openJar() {
  const jar = new Map<string, string>();
  return {
    field: () => [...jar].map(([name, value]) => `${name}=${value}`).join("; "),
    keep: (headers: Headers) => {
      for (const line of headers.getSetCookie()) {
        const [name = "", value = ""] = (line.split(";")[0] ?? "").split("=");
        jar.set(name, value);
      }
    },
    rename: (from: RegExp, to: string) => {
      for (const [name, value] of [...jar]) {
        jar.delete(name);
        jar.set(name.replace(from, to), value);
      }
    },
  };
}

describe("the sign-in", () => {
  /** Presses the button of a new link, with the cookies of a browser. */
  async function press(house: TestConsole, cookie: string) {
    const { origin } = house;
    const body = new URL(await house.link()).searchParams;
    return house.ask("/sign-in", { method: "POST", body, headers: { origin, cookie } });
  }

  it("leads to the page that was asked for before it, and forgets that one", async () => {
    const house = await openConsole(await filesOf(5));
    for (const page of [
      "/agents",
      "/traffic?method=BOOK&path=%2Froom%3B",
      "/endpoints/BOOK/room/7",
    ]) {
      const { status, headers } = await house.ask(page);
      expect([status, headers.get("location")]).toEqual([303, "/sign-in"]);
      const asked = String(headers.get("set-cookie"));
      expect(asked).toMatch(
        /^agtpd_console_9f86d081_page=[\w%.-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600$/,
      );
      const [cookie = ""] = asked.split(";");
      const signedIn = await press(house, cookie);
      expect([signedIn.status, signedIn.headers.get("location")]).toEqual([303, page]);
      const [session, gone] = signedIn.headers.getSetCookie();
      expect(session).toMatch(/^agtpd_console_9f86d081=/);
      expect(gone).toMatch(/^agtpd_console_9f86d081_page=; .*Max-Age=0$/);
    }
    const { headers } = await house.ask(`/traffic?agent=${"a".repeat(2_000)}`);
    expect(headers.get("set-cookie")).toBeNull();
  });

  it("leads to the overview where the page asked for is none of this console's", async () => {
    const house = await openConsole(await filesOf(5));
    for (const page of [
      ...["//evil.example", "https://evil.example/agents", "https:/agents", "\\\\evil", "/nothing"],
      ...["/agents/a\r\nset-cookie: a=b", "/agents/é", "/sign-out", "/api/agents", ""],
    ]) {
      const cookie = `agtpd_console_9f86d081_page=${encodeURIComponent(page)}`;
      const { status, headers } = await press(house, cookie);
      expect([page, status, headers.get("location")]).toEqual([page, 303, "/"]);
    }
    expect((await press(house, "agtpd_console_9f86d081_page=%")).headers.get("location")).toBe("/");
  });

  it("ends nothing of the console of another server on the host", async () => {
    const jar = openJar();
    const houses = [];
    for (const server_id of ["one.example", "two.example"]) {
      const toml = configFile({ ...CONSOLE, server: { server_id } });
      const house = await openConsole({ "agtp-server.toml": toml });
      jar.keep((await press(house, jar.field())).headers);
      houses.push(house);
    }
    for (const house of houses) {
      const { status } = await house.ask("/api/session", { headers: { cookie: jar.field() } });
      expect(status).toBe(200);
    }
  });

  it("of an earlier release goes on", async () => {
    const house = await openConsole(await filesOf(5));
    const jar = openJar();
    jar.keep((await press(house, "")).headers);
    jar.rename(/_[0-9a-f]{8}$/, "");
    expect(jar.field()).toMatch(/^agtpd_console=/);
    const before = jar.field();
    const session = async (cookie: string) =>
      (await house.ask("/api/session", { headers: { cookie } })).status;
    expect(await session(before)).toBe(200);
    jar.keep((await press(house, before)).headers);
    expect([await session(jar.field()), await session(before)]).toEqual([200, 401]);
  });

  it("ends the session that the browser had", async () => {
    const house = await openConsole(await filesOf(5));
    const [nina, other] = [await house.signIn({ name: "Nina" }), await house.signIn()];
    expect((await press(house, nina.cookie)).status).toBe(303);
    expect((await nina.get("/api/session")).status).toBe(401);
    expect((await other.get("/api/session")).status).toBe(200);
  });
});

describe("a session", () => {
  it("lasts by the session_minutes of the last reload, longer or shorter", async () => {
    const house = await openConsole(await filesOf(5));
    const nina = await house.signIn();
    const status = async () => (await nina.get("/api/agents")).status;
    await reload(house, 60);
    pass(50);
    expect(await status()).toBe(200);
    await reload(house, 5);
    pass(4);
    expect(await status()).toBe(200);
    pass(6);
    expect(await status()).toBe(401);
    // What was over stays over.
    await reload(house, 60);
    expect(await status()).toBe(401);
  });

  it("that is over closes its stream of events", async () => {
    const house = await openConsole(await filesOf(5));
    const nina = await house.signIn();
    const { cookie } = nina;
    const response = await fetch(`${house.origin}/api/events`, { headers: { cookie } });
    const reader = response.body?.getReader();
    expect((await reader?.read())?.done).toBe(false);
    pass(6);
    while (!((await reader?.read()) ?? { done: true }).done);
    expect((await nina.get("/api/session")).status).toBe(401);
  });
});
