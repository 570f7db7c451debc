/**
 * Judges the addresses that an upstream's name stands for. Names are somebody else's to change,
 * also between two connections: so what is looked at are the addresses that a connection is made
 * to, each time one is made. This machine answers to `localhost` alone, and no name to addresses
 * that belong to a link, to nobody or to many; what an operator writes as an address is not looked
 * up, and stands. RFC 6761 §6.3, RFC 6890
 */
import { type LookupAddress, type LookupOptions, lookup } from "node:dns";
import type { LookupFunction } from "node:net";
import { isLoopbackAddress, isNobodysAddress } from "../base/special-addresses.ts";

/** Asks the system; what `node:dns` has. */
export type Resolve = (
  hostname: string,
  options: LookupOptions & { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** A look-up for connections, over the system's resolver unless another is given. */
export function createUpstreamLookup(resolve: Resolve = lookup): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, "");
      const [first, ...others] = found.filter((one) => isAllowed(hostname, one));
      if (first === undefined) return callback(refused(hostname), "");
      if (options.all === true) callback(null, [first, ...others]);
      else callback(null, first.address, first.family);
    });
  };
}

function isAllowed(hostname: string, { address }: LookupAddress): boolean {
  return !isNobodysAddress(address) && isLoopbackAddress(address) === isOwnName(hostname);
}

/** No name server is asked about these.   RFC 6761 §6.3 */
function isOwnName(hostname: string): boolean {
  return /^(?:.+\.)?localhost\.?$/i.test(hostname);
}

/** Which address it was is for nobody to learn. */
function refused(hostname: string): NodeJS.ErrnoException {
  const message = `${JSON.stringify(hostname)} stands for no address that an upstream may have`;
  return Object.assign(new Error(message), { code: "ERR_AGTP_UPSTREAM_ADDRESS" });
}
