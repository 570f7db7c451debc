/** The cookie of a session. Over TLS its name keeps other hosts and paths from setting it. */

const NAME = "agtpd_console";
const SECURE_NAME = `__Host-${NAME}`;
const COMMON = "Path=/; HttpOnly; SameSite=Strict";

/** The value of the cookie; the first, where there are several. */
export function readCookie(field: string | undefined, isSecure: boolean): string | undefined {
  const name = nameOf(isSecure);
  for (const part of (field ?? "").split(";")) {
    const [key, value] = part.trim().split("=", 2);
    if (key === name) return value;
  }
  return undefined;
}

/** The field that sets it, until the browser is closed. */
export function setCookie(value: string, isSecure: boolean): string {
  return `${nameOf(isSecure)}=${value}; ${COMMON}${isSecure ? "; Secure" : ""}`;
}

/** The field that ends it. */
export function clearCookie(isSecure: boolean): string {
  return `${setCookie("", isSecure)}; Max-Age=0`;
}

function nameOf(isSecure: boolean): string {
  return isSecure ? SECURE_NAME : NAME;
}
