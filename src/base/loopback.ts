/** Loopback hosts: the only ones where a server may do without certificates and proofs. */
import { isIP } from "node:net";
import { isLoopbackAddress } from "./special-addresses.ts";

/** 127.0.0.0/8 and ::1 in any spelling, and localhost; every other name may be anywhere. */
export function isLoopbackHost(host: string): boolean {
  return isIP(host) === 0 ? host.toLowerCase() === "localhost" : isLoopbackAddress(host);
}
