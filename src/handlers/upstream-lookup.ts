/**
 * What the name of an upstream may stand for. Names are somebody else's to change, also between two
 * connections: so what is looked at are the addresses that a connection is made to, each time one is
 * made. This machine answers to `localhost` alone, and no name to addresses that belong to a link, to
 * nobody or to many; what an operator writes as an address is not looked up, and stands.
 * RFC 6761 §6.3, RFC 6890
 */
import { type LookupAddress, type LookupOptions, lookup } from "node:dns";
import { BlockList, type LookupFunction } from "node:net";

/** Asks the system; what `node:dns` has. */
export type Resolve = (
  hostname: string,
  options: LookupOptions & { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** A look-up for connections, over the system's resolver unless another is given. */
export function createUpstreamLookup(resolve: Resolve = lookup): LookupFunction {
  const lists = { loopback: loopbackAddresses(), never: neverUpstreams() };
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, "");
      const [first, ...others] = found.filter((one) => isAllowed(hostname, one, lists));
      if (first === undefined) return callback(refused(hostname), "");
      if (options.all === true) callback(null, [first, ...others]);
      else callback(null, first.address, first.family);
    });
  };
}

interface AddressLists {
  readonly loopback: BlockList;
  readonly never: BlockList;
}

function isAllowed(
  hostname: string,
  { address, family }: LookupAddress,
  { loopback, never }: AddressLists,
): boolean {
  const kind = family === 6 ? "ipv6" : "ipv4";
  if (never.check(address, kind)) return false;
  return loopback.check(address, kind) === isOwnName(hostname);
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

function loopbackAddresses(): BlockList {
  const list = new BlockList();
  list.addSubnet("127.0.0.0", 8, "ipv4");
  list.addAddress("::1", "ipv6");
  return list;
}

function neverUpstreams(): BlockList {
  const list = new BlockList();
  list.addSubnet("0.0.0.0", 8, "ipv4");
  // Here clouds keep the credentials of their machines.
  list.addSubnet("169.254.0.0", 16, "ipv4");
  list.addSubnet("224.0.0.0", 4, "ipv4");
  list.addSubnet("240.0.0.0", 4, "ipv4");
  list.addAddress("::", "ipv6");
  list.addSubnet("fe80::", 10, "ipv6");
  list.addSubnet("ff00::", 8, "ipv6");
  return list;
}
