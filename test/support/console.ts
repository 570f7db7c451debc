/** A daemon with its console, and somebody who is signed in there. */

import { askControl } from "../../src/client/ask-control.ts";
import { controlPath } from "../../src/state/state-directory.ts";
import { openDaemon, type TestDaemon } from "./daemon.ts";
import { configFile, type DeploymentFiles } from "./deployment.ts";

/** An answer of the console. */
export interface ConsoleAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Parsed, where it is JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it as they like
  readonly body: any;
}

/** Somebody at the console. */
export interface ConsoleVisitor {
  get(path: string, fields?: Record<string, string>): Promise<ConsoleAnswer>;
  /** With the session's token, unless the fields say otherwise. */
  post(path: string, body: object, fields?: Record<string, string>): Promise<ConsoleAnswer>;
  readonly cookie: string;
  readonly csrf: string;
}

/** Where a console is found. */
export interface TestPlace {
  readonly origin: string;
  /** A link of `agtpd login`. */
  link(options?: Record<string, unknown>): Promise<string>;
  signIn(options?: Record<string, unknown>): Promise<ConsoleVisitor>;
  /** Asks without a session. */
  ask(path: string, init?: RequestInit): Promise<ConsoleAnswer>;
}

export interface TestConsole extends TestDaemon, TestPlace {}

/** The section that has a console served on any free port. */
export const CONSOLE: Readonly<Record<string, object>> = { console: { enabled: true, port: 0 } };

/** Starts one for the running test. */
export async function openConsole(files: DeploymentFiles = {}): Promise<TestConsole> {
  return consoleOf(await openDaemon({ "agtp-server.toml": configFile(CONSOLE), ...files }));
}

/** The console of a daemon that has one. */
export function consoleOf(daemon: TestDaemon): TestConsole {
  const ready = daemon.log.find(({ event }) => event === "listening");
  return { ...daemon, ...openPlace(daemon.directory, Number(ready?.["console_port"])) };
}

/** The console of a deployment that is served on a port. */
export function openPlace(directory: string, port: number): TestPlace {
  const origin = `http://localhost:${port}`;
  const link = async (options: Record<string, unknown> = {}): Promise<string> => {
    const command = JSON.stringify({ command: "login", options });
    const answer = JSON.parse(await askControl(controlPath(directory), command));
    if (answer.ok !== true) throw new Error(answer.message);
    return answer.result.url;
  };
  return {
    ...{ origin, link },
    ask: (path, init) => ask(`${origin}${path}`, init),
    signIn: async (options) => visit(origin, await link(options)),
  };
}

async function ask(url: string, init: RequestInit = {}): Promise<ConsoleAnswer> {
  const response = await fetch(url, { redirect: "manual", ...init });
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
  return {
    ...{ status: response.status, headers: response.headers, text },
    body: isJson && text !== "" ? JSON.parse(text) : undefined,
  };
}

async function visit(origin: string, link: string): Promise<ConsoleVisitor> {
  const body = new URLSearchParams({ link: new URL(link).searchParams.get("link") ?? "" });
  const entered = await ask(`${origin}/sign-in`, { method: "POST", body, headers: { origin } });
  const [cookie = ""] = (entered.headers.get("set-cookie") ?? "").split(";");
  const { csrf } = (await ask(`${origin}/api/session`, { headers: { cookie } })).body;
  return {
    ...{ cookie, csrf },
    get: (path, fields) => ask(`${origin}${path}`, { headers: { cookie, ...fields } }),
    post: (path, sent, fields) =>
      ask(`${origin}${path}`, {
        method: "POST",
        body: JSON.stringify(sent),
        headers: {
          ...{ cookie, origin, "x-csrf-token": csrf, "content-type": "application/json" },
          ...fields,
        },
      }),
  };
}
