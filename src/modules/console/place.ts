/** The place of the console: the link that signs somebody in, and the names it answers to. */
import { hash } from "node:crypto";
import { urlAuthority, urlHost } from "../../base/addresses.ts";
import type { DaemonFacts } from "../../dispatch/module/http-gateway.ts";
import type { ConsoleSections } from "./config.ts";

/** Hosts that listen where `localhost` leads: to the IPv4 address alone on many machines. */
const LOCAL_HOSTS: readonly string[] = ["localhost", "127.0.0.1", "0.0.0.0", "::"];

/** Known once the port is bound. */
export class ConsolePlace {
  readonly cookies: Cookies;
  readonly #config: ConsoleSections["console"];
  #port = 0;
  #daemon: (() => DaemonFacts) | undefined;

  constructor({ console, server }: Pick<ConsoleSections, "console" | "server">) {
    this.#config = console;
    this.cookies = new Cookies(this, server.serverId);
  }

  bind(port: number, daemon: () => DaemonFacts): void {
    this.#port = port;
    this.#daemon = daemon;
  }

  /** The daemon as it is now; undefined until it is served. */
  get daemon(): DaemonFacts | undefined {
    return this.#daemon?.();
  }

  get isSecure(): boolean {
    return this.baseUrl.startsWith("https:");
  }

  /** Without a slash at its end. Passkeys need a name, so it is no address where `localhost` will do. */
  get baseUrl(): string {
    const { baseUrl, cert, host } = this.#config;
    const scheme = cert === undefined ? "http" : "https";
    const name = LOCAL_HOSTS.includes(host) ? "localhost" : urlHost(host);
    return (baseUrl ?? `${scheme}://${name}:${this.#port}`).replace(/\/$/, "");
  }

  /** Tells whether a Host field names this console: a page of another name must not be it. */
  isOurs(host: string): boolean {
    const names = ["localhost", "127.0.0.1", "::1", this.#config.host];
    const usual = this.#config.cert === undefined ? 80 : 443;
    // A browser leaves out the port that goes without saying.
    const own = names.flatMap((name) => [
      urlAuthority(name, this.#port),
      urlAuthority(name, this.#port, usual),
    ]);
    return host === new URL(this.baseUrl).host || own.includes(host);
  }

  /** Tells whether an Origin is the console's own, under the name that it was reached by. */
  isOwnOrigin(origin: string | undefined, host: string): boolean {
    if (origin === undefined || !this.isOurs(host)) return false;
    return origin === `${this.isSecure ? "https" : "http"}://${host}`;
  }
}

const COOKIES = {
  session: { suffix: "", sameSite: "Strict" },
  attempt: { suffix: "_oidc", sameSite: "Lax" },
  page: { suffix: "_page", sameSite: "Lax" },
} as const;
type CookieKind = keyof typeof COOKIES;

/** The name of a session's cookie before it said whose it is: sessions begun then go on. */
const EARLIER_NAME = "agtpd_console";
const TAG_LENGTH = 8;
const MAX_COOKIES = 8;

/**
 * The cookies of a console: of a session, of an attempt to sign in at a provider, and of the page that
 * was asked for before. Over TLS their names keep other hosts and paths from setting them. Browsers ask
 * for no port, so that a name says whose console it is: that of another server on the host has its own.
 */
class Cookies {
  readonly #place: { readonly isSecure: boolean };
  readonly #name: string;

  /** The processes and nodes of one server have them in common. */
  constructor(place: { readonly isSecure: boolean }, serverId: string) {
    this.#place = place;
    this.#name = `${EARLIER_NAME}_${hash("sha256", serverId).slice(0, TAG_LENGTH)}`;
  }

  /** The values of the cookie: another program on the host may have set one of the same name. */
  read(field: string | undefined, kind: CookieKind = "session"): readonly string[] {
    const named = (field ?? "").split(";").map((part) => part.trim());
    const names = [this.#nameOf(kind), ...(kind === "session" ? [this.#full(EARLIER_NAME)] : [])];
    const values = names.flatMap((name) =>
      named
        .filter((part) => part.startsWith(`${name}=`))
        .map((part) => part.slice(name.length + 1)),
    );
    return values.slice(0, MAX_COOKIES);
  }

  /** The field that sets it, until the browser is closed. */
  set(value: string, kind: CookieKind = "session"): string {
    const { sameSite } = COOKIES[kind];
    const secure = this.#place.isSecure ? "; Secure" : "";
    return `${this.#nameOf(kind)}=${value}; Path=/; HttpOnly; SameSite=${sameSite}${secure}`;
  }

  /** The field that ends it. */
  clear(kind: CookieKind = "session"): string {
    return `${this.set("", kind)}; Max-Age=0`;
  }

  #nameOf(kind: CookieKind): string {
    return this.#full(`${this.#name}${COOKIES[kind].suffix}`);
  }

  #full(name: string): string {
    return this.#place.isSecure ? `__Host-${name}` : name;
  }
}
