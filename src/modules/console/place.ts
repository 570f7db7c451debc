/** The console's address: its base URL, the host names that it accepts, and its cookies. */
import { hash } from "node:crypto";
import { urlAuthority, urlHost } from "../../base/addresses.ts";
import type { DaemonFacts } from "../../dispatch/module/http-gateway.ts";
import type { ConsoleSections } from "./config.ts";

/** Hosts to bind that `localhost` reaches, which on many machines is the IPv4 address alone. */
const LOCAL_HOSTS: readonly string[] = ["localhost", "127.0.0.1", "0.0.0.0", "::"];

/** The console's address, complete once the port is bound. */
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

  /** The daemon's current facts; undefined until it serves. */
  get daemon(): DaemonFacts | undefined {
    return this.#daemon?.();
  }

  get isSecure(): boolean {
    return this.baseUrl.startsWith("https:");
  }

  /**
   * Base URL without a trailing slash; `localhost` rather than an IP address if possible, since passkeys need a name.
   */
  get baseUrl(): string {
    const { baseUrl, cert, host } = this.#config;
    const scheme = cert === undefined ? "http" : "https";
    const name = LOCAL_HOSTS.includes(host) ? "localhost" : urlHost(host);
    return (baseUrl ?? `${scheme}://${name}:${this.#port}`).replace(/\/$/, "");
  }

  /** True if a Host field names this console; a page under any other name is not served. */
  isOurs(host: string): boolean {
    const names = ["localhost", "127.0.0.1", "::1", this.#config.host];
    const usual = this.#config.cert === undefined ? 80 : 443;
    // Browsers omit the default port.
    const own = names.flatMap((name) => [
      urlAuthority(name, this.#port),
      urlAuthority(name, this.#port, usual),
    ]);
    return host === new URL(this.baseUrl).host || own.includes(host);
  }

  /** True if an Origin is the console's own, under the name in the request's Host field. */
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

/** Name of the session cookie before it had a tag; sessions begun under it stay valid. */
const EARLIER_NAME = "agtpd_console";
const TAG_LENGTH = 8;
const MAX_COOKIES = 8;

/**
 * The console's cookies: the session, an attempt to sign in at a provider, and the page to return to. Over TLS their
 * name prefixes keep other hosts and paths from setting them. Browsers share cookies between ports, so each name has a
 * tag of its server.
 */
class Cookies {
  readonly #place: { readonly isSecure: boolean };
  readonly #name: string;

  /** Derives the names from the server id, so that all processes and nodes of a server share them. */
  constructor(place: { readonly isSecure: boolean }, serverId: string) {
    this.#place = place;
    this.#name = `${EARLIER_NAME}_${hash("sha256", serverId).slice(0, TAG_LENGTH)}`;
  }

  /** Returns every value of a cookie: another program on the host may have set one of the same name. */
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

  /** Returns the header field that sets a cookie until the browser is closed. */
  set(value: string, kind: CookieKind = "session"): string {
    const { sameSite } = COOKIES[kind];
    const secure = this.#place.isSecure ? "; Secure" : "";
    return `${this.#nameOf(kind)}=${value}; Path=/; HttpOnly; SameSite=${sameSite}${secure}`;
  }

  /** Returns the header field that deletes a cookie. */
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
