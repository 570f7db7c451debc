/**
 * Hosts and addresses: how they stand in a URI, and those that mean something by themselves, this
 * machine's own and those that belong to a link, to nobody or to many.   RFC 6890, RFC 3986 §3.2.2
 */
import { BlockList, isIP, isIPv4 } from "node:net";
import { relative } from "node:path";

/** 127.0.0.0/8 and ::1 in any spelling; no name. */
export function isLoopbackAddress(text: string): boolean {
  return isAmong(text, LOOPBACK);
}

/** Tells whether no service can have an address, or only the one where a cloud keeps credentials. */
export function isNobodysAddress(text: string): boolean {
  return isAmong(text, NOBODYS);
}

function isAmong(text: string, subnets: readonly Subnet[]): boolean {
  const family = isIP(text);
  if (family === 0) return false;
  const list = new BlockList();
  for (const [net, prefix, kind] of subnets) list.addSubnet(net, prefix, kind);
  // The block list knows no zones: `::1%lo` is `::1`.
  return list.check(text.replace(/%.*$/, ""), family === 6 ? "ipv6" : "ipv4");
}

type Subnet = readonly [net: string, prefix: number, kind: "ipv4" | "ipv6"];

const NAT64_PREFIX = 96;

const LOOPBACK: readonly Subnet[] = [
  ["127.0.0.0", 8, "ipv4"],
  ["::1", 128, "ipv6"],
];

const NOBODYS_IPV4: readonly Subnet[] = [
  ["0.0.0.0", 8, "ipv4"],
  ["169.254.0.0", 16, "ipv4"],
  ["224.0.0.0", 3, "ipv4"],
  // Where three clouds keep theirs, which is no address of a link.
  ["100.100.100.200", 32, "ipv4"],
  ["192.0.0.192", 32, "ipv4"],
  ["168.63.129.16", 32, "ipv4"],
];

const NOBODYS: readonly Subnet[] = [
  ...NOBODYS_IPV4,
  ...[...NOBODYS_IPV4, ...LOOPBACK.slice(0, 1)].map(throughNat64),
  ["::", 128, "ipv6"],
  ["fe80::", 10, "ipv6"],
  ["ff00::", 8, "ipv6"],
  // The same of three clouds in IPv6.
  ["fd00:ec2::254", 128, "ipv6"],
  ["fd20:ce::254", 128, "ipv6"],
  ["fd00:c1::a9fe:a9fe", 128, "ipv6"],
];

/** The same addresses of IPv4 as a translator reaches them.   RFC 6052 §2.1 */
function throughNat64([net, prefix]: Subnet): Subnet {
  return [`64:ff9b::${net}`, NAT64_PREFIX + prefix, "ipv6"];
}

/** 127.0.0.0/8 and ::1 in any spelling, and localhost; every other name may be anywhere. */
export function isLoopbackHost(host: string): boolean {
  return isIP(host) === 0 ? host.toLowerCase() === "localhost" : isLoopbackAddress(host);
}

const GROUPS = 8;
const NETWORK_GROUPS = 4;

/** The network that one host chooses its addresses from: an IPv4 address, or an IPv6 /64. */
export function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const mapped = address.slice(address.lastIndexOf(":") + 1);
  if (isIPv4(mapped) && address.toLowerCase().startsWith("::ffff:")) return mapped;
  const [left = "", right] = address.split("::", 2);
  const head = groupsOf(left);
  const tail = right === undefined ? [] : groupsOf(right);
  const zeros = Math.max(0, GROUPS - head.length - tail.length);
  const groups = [...head, ...new Array<string>(zeros).fill("0"), ...tail];
  return `${groups.slice(0, NETWORK_GROUPS).join(":")}::/64`;
}

/** An IPv4 address at the end stands for two groups. */
function groupsOf(text: string): readonly string[] {
  if (text === "") return [];
  return text.split(":").flatMap((group) => (isIPv4(group) ? ["v4", "v4"] : group.toLowerCase()));
}

/** A host; an address of IPv6 has brackets. */
export function urlHost(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

/** A host and its port; a port that goes without saying, or is not known, is left out. */
export function urlAuthority(host: string, port: number, usual?: number): string {
  return port === usual || port === 0 ? urlHost(host) : `${urlHost(host)}:${port}`;
}

/** The least that a system with such sockets takes. */
const MAX_OCTETS = 103;

/** The path in its shorter form. Throws where none is short enough. */
export function socketAddress(path: string): string {
  const near = relative(process.cwd(), path);
  const shorter = near.length > 0 && near.length < path.length ? near : path;
  const length = Buffer.byteLength(shorter);
  if (length <= MAX_OCTETS) return shorter;
  throw new Error(`the path of a socket is at most ${MAX_OCTETS} octets long, this has ${length}`);
}

/** The target of a request to a proxy, which a server has to understand as well.   RFC 9112 §3.2.2 */
const ABSOLUTE = /^https?:\/\/([^/?#]*)/i;

interface AddressedTarget {
  /** Undefined in origin-form. */
  readonly authority: string | undefined;
  /** The rest without it. */
  readonly relative: string;
}

/** Takes the authority off a target in absolute-form. */
export function readAuthority(target: string): AddressedTarget {
  const found = ABSOLUTE.exec(target);
  return { authority: found?.[1], relative: target.slice(found?.[0].length ?? 0) };
}
