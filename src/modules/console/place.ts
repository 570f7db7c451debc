/** The place of the console: the link that signs somebody in, and the names it answers to. */
import { urlAuthority, urlHost } from "../../base/addresses.ts";
import type { DaemonFacts } from "../../dispatch/module/http-gateway.ts";
import type { ConsoleSections } from "./config.ts";
import { Cookies } from "./cookies.ts";

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
