/**
 * The cookies of a console: of a session, of an attempt to sign in at a provider, and of the page that
 * was asked for before. Over TLS their names keep other hosts and paths from setting them. Browsers ask
 * for no port, so that a name says whose console it is: that of another server on the host has its own.
 */
import { sha256Hex } from "../../identity/canonical-form.ts";

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

export class Cookies {
  readonly #place: { readonly isSecure: boolean };
  readonly #name: string;

  /** The processes and nodes of one server have them in common. */
  constructor(place: { readonly isSecure: boolean }, serverId: string) {
    this.#place = place;
    this.#name = `${EARLIER_NAME}_${sha256Hex(serverId).slice(0, TAG_LENGTH)}`;
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
