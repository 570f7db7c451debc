/** An OpenID provider on a free loopback port, over HTTPS, with pages on which people sign in. */
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { exportJWK, generateKeyPair } from "jose";
import { Provider } from "oidc-provider";
import type { Page } from "playwright-core";
import { makeCertificate } from "./certificate.ts";

/** A provider that runs. */
export interface TestOpenId {
  readonly issuer: string;
  readonly ca: string;
  /** `[console.oidc]` for it: night watchmen see, managers decide. */
  readonly section: Readonly<Record<string, unknown>>;
  /** Begins to answer; it sends people back to the console at this origin. */
  serve(origin: string): void;
  close(): Promise<void>;
}

const CLIENT = { client_id: "agtpd", client_secret: "a secret & more" };

/** The name of somebody whom the provider lets choose it. */
export const HOSTILE_NAME = `<img src=x onerror="window.hacked=1">\u202e\u200b\u00ad\u{e0041}'"&`;

/** The groups of people by the names that they sign in with. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  nina: ["watchmen", "managers"],
  otto: ["watchmen"],
  [HOSTILE_NAME]: ["watchmen"],
};

/** The key of all of them: to make one takes a quarter of a second. */
let signing: Promise<object> | undefined;

async function makeSigningKey(): Promise<object> {
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  return { ...(await exportJWK(privateKey)), use: "sig", alg: "RS256", kid: "one" };
}

/** Starts one, which the caller closes. */
export async function startOpenId(): Promise<TestOpenId> {
  const { cert, key } = await makeCertificate();
  const { server, port, close } = await listen({ cert, key });
  const issuer = `https://localhost:${port}`;
  signing ??= makeSigningKey();
  const keys = [await signing];
  const section = {
    ...{ issuer, ...CLIENT, ca: "login-ca.pem" },
    ...{ viewers: ["watchmen"], operators: ["managers"] },
  };
  const serve = (origin: string): void => {
    const provider = new Provider(issuer, {
      clients: [{ ...CLIENT, redirect_uris: [`${origin}/oidc/callback`] }],
      jwks: { keys },
      cookies: { keys: ["for tests alone"] },
      claims: { openid: ["sub"], profile: ["name", "groups"] },
      findAccount: (_context: unknown, id: string) => ({
        accountId: id,
        claims: () => ({ sub: id, name: `The one called ${id}`, groups: GROUPS[id] ?? [] }),
      }),
      pkce: { required: () => true },
    });
    server.on("request", provider.callback());
  };
  return { issuer, ca: cert, section, serve, close };
}

/** Signs in on the provider's pages, and agrees. */
export async function signInThere(page: Page, name: string): Promise<void> {
  await page.locator('input[name="login"]').fill(name);
  await page.locator('input[name="password"]').fill("anything");
  await page.locator('button[type="submit"]').click();
  await page.getByRole("button", { name: "Continue" }).click();
}

async function listen(secrets: { readonly cert: string; readonly key: string }) {
  const server: Server = createServer(secrets);
  const sockets = new Set<Duplex>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  return { server, port: (server.address() as AddressInfo).port, close };
}
