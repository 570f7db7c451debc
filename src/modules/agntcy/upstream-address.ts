/**
 * The addresses that an ACP server may have: behind https, or by the operator's explicit word
 * behind plain http on this machine. A manifest comes from strangers, so addresses that mean the
 * machine's own network surroundings are refused whatever the scheme.
 */

import { isLoopbackHost, isNobodysAddress } from "../../base/addresses.ts";
import { quoteValue } from "../../base/json-value.ts";

/** An address that may be called. */
export interface UpstreamAddress {
  readonly origin: string;
  /** The beginning of paths; no slash at its end. */
  readonly basePath: string;
}

/** The address, or what is wrong with it. */
type AddressResult =
  | { readonly address: UpstreamAddress; readonly fault?: undefined }
  | { readonly fault: string };

/** Takes an address apart. */
export function readAddress(written: string, allowsHttp: boolean): AddressResult {
  const url = URL.canParse(written) ? new URL(written) : undefined;
  const fault = url === undefined ? "must be an absolute URL" : findFault(url, allowsHttp);
  if (url === undefined || fault !== undefined) return { fault: `${quoteUrl(written)} ${fault}` };
  return { address: { origin: url.origin, basePath: url.pathname.replace(/\/+$/, "") } };
}

function findFault(url: URL, allowsHttp: boolean): string | undefined {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (url.username !== "" || url.password !== "") {
    return "must hold no user and no password, credentials are taken from the environment";
  }
  if (url.search !== "" || url.hash !== "") return "must have neither query nor fragment";
  if (isNobodysAddress(host)) return "is an address that no service has";
  if (url.protocol === "https:") return undefined;
  if (url.protocol !== "http:" || !isLoopbackHost(host)) return "must use https";
  return allowsHttp ? undefined : "must use https; plain http on loopback takes allow_http = true";
}

/** A URL may hold a password. */
function quoteUrl(written: string): string {
  return quoteValue(written.replace(/\/\/[^/@]*@/, "//…@"));
}
