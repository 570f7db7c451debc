/**
 * The address of an API: the first https server that applies to an operation, variables at their
 * defaults. An external service is reached by https only, so a plain http address becomes an https
 * one, and that is said.   AGTP-API §12.3
 */
import { isRecord, recordIn } from "../base/json-value.ts";
import type { Notes } from "./notes.ts";

/** A base URL without a slash at its end, or why there is none. */
export type BaseUrl =
  | { readonly url: string; readonly fault?: undefined }
  | { readonly url?: undefined; readonly fault: string };

const VARIABLE = /\{([^{}]*)\}/g;

/** The address of the first server that can be used. */
export function findBaseUrl(servers: readonly unknown[], notes: Notes): BaseUrl {
  const urls = servers.flatMap((server) => {
    const url = expandServer(server, notes);
    return url === undefined ? [] : [url];
  });
  const [relative] = urls;
  if (relative === undefined) return { fault: "the document names no server, give --base-url" };
  const secure = urls.find((url) => /^https:\/\//i.test(url));
  if (secure !== undefined) return checkBaseUrl(secure);
  const plain = urls.find((url) => /^http:\/\//i.test(url));
  if (plain === undefined) {
    return { fault: `the server ${JSON.stringify(relative)} is no https address, give --base-url` };
  }
  notes.add(`the server ${plain} is asked by https, which is the only way`);
  return checkBaseUrl(plain.replace(/^http:/i, "https:"));
}

/** Checks an address that others are made from. */
export function checkBaseUrl(written: string): BaseUrl {
  const url = written.replace(/\/+$/, "");
  const shown = JSON.stringify(url.slice(0, 100));
  if (!/^https:\/\/[^/?#\s]+(?:\/[^?#\s]*)?$/i.test(url) || !URL.canParse(url)) {
    return { fault: `the base URL ${shown} must be an https address without query and fragment` };
  }
  const { username, password } = new URL(url);
  if (username === "" && password === "" && !/[{}"<>\\^`|]/.test(url)) return { url };
  return { fault: `the base URL ${shown} must have no credentials and no variables` };
}

function expandServer(server: unknown, notes: Notes): string | undefined {
  if (!isRecord(server) || typeof server["url"] !== "string") return undefined;
  const variables = recordIn(server["variables"]);
  return server["url"].slice(0, 2048).replace(VARIABLE, (whole, name: string) => {
    const variable = Object.hasOwn(variables, name) ? variables[name] : undefined;
    const value = recordIn(variable)["default"];
    if (typeof value !== "string" && typeof value !== "number") return whole;
    notes.add(`the variable {${name}} of the server's address is ${JSON.stringify(value)} here`);
    return String(value);
  });
}
