/**
 * The cookies of the console: of a session, and of an attempt to sign in at a provider. Over TLS
 * their names keep other hosts and paths from setting them.
 */

/** The provider sends people back from another host, to which a strict cookie is not brought. */
const COOKIES = {
  session: { name: "agtpd_console", sameSite: "Strict" },
  attempt: { name: "agtpd_console_oidc", sameSite: "Lax" },
} as const;
type CookieKind = keyof typeof COOKIES;

/** The value of the cookie; the first, where there are several. */
export function readCookie(
  field: string | undefined,
  isSecure: boolean,
  kind: CookieKind = "session",
): string | undefined {
  const name = nameOf(kind, isSecure);
  for (const part of (field ?? "").split(";")) {
    const [key, value] = part.trim().split("=", 2);
    if (key === name) return value;
  }
  return undefined;
}

/** The field that sets it, until the browser is closed. */
export function setCookie(value: string, isSecure: boolean, kind: CookieKind = "session"): string {
  const { sameSite } = COOKIES[kind];
  const attributes = `Path=/; HttpOnly; SameSite=${sameSite}${isSecure ? "; Secure" : ""}`;
  return `${nameOf(kind, isSecure)}=${value}; ${attributes}`;
}

/** The field that ends it. */
export function clearCookie(isSecure: boolean, kind: CookieKind = "session"): string {
  return `${setCookie("", isSecure, kind)}; Max-Age=0`;
}

function nameOf(kind: CookieKind, isSecure: boolean): string {
  const { name } = COOKIES[kind];
  return isSecure ? `__Host-${name}` : name;
}
