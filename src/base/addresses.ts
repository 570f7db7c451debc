/**
 * Hosts and addresses: their form in URIs, and special-purpose addresses such as loopback,
 * link-local, unspecified and multicast.   RFC 6890, RFC 3986 §3.2.2
 */
import { BlockList, isIP, isIPv4 } from "node:net";
import { relative } from "node:path";

/** Tells whether a text is an address of 127.0.0.0/8, or ::1 in any spelling; names are not. */
export function isLoopbackAddress(text: string): boolean {
  return isAmong(text, LOOPBACK);
}

/** Tells whether no service can have an address, or only a cloud's metadata service with credentials. */
export function isNobodysAddress(text: string): boolean {
  return isAmong(text, NOBODYS);
}

function isAmong(text: string, subnets: readonly Subnet[]): boolean {
  const family = isIP(text);
  if (family === 0) return false;
  const list = new BlockList();
  for (const [net, prefix, kind] of subnets) list.addSubnet(net, prefix, kind);
  // The block list does not support zones: `::1%lo` is `::1`.
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
  // The metadata services of three clouds, which have no link-local address.
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
  // The metadata services of three clouds in IPv6.
  ["fd00:ec2::254", 128, "ipv6"],
  ["fd20:ce::254", 128, "ipv6"],
  ["fd00:c1::a9fe:a9fe", 128, "ipv6"],
];

/** Returns the NAT64 form of an IPv4 subnet.   RFC 6052 §2.1 */
function throughNat64([net, prefix]: Subnet): Subnet {
  return [`64:ff9b::${net}`, NAT64_PREFIX + prefix, "ipv6"];
}

/** Tells whether a host is an address of 127.0.0.0/8, ::1 or localhost; other names may be anywhere. */
export function isLoopbackHost(host: string): boolean {
  return isIP(host) === 0 ? host.toLowerCase() === "localhost" : isLoopbackAddress(host);
}

const GROUPS = 8;
const NETWORK_GROUPS = 4;

/** Returns the network within which one host can choose its address: an IPv4 address, or an IPv6 /64. */
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

/** Splits an IPv6 text into groups; an IPv4 address at the end counts as two. */
function groupsOf(text: string): readonly string[] {
  if (text === "") return [];
  return text.split(":").flatMap((group) => (isIPv4(group) ? ["v4", "v4"] : group.toLowerCase()));
}

/** Formats a host for a URL, with brackets around an IPv6 address. */
export function urlHost(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

/** Formats host and port, without a port that is the default or unknown. */
export function urlAuthority(host: string, port: number, usual?: number): string {
  return port === usual || port === 0 ? urlHost(host) : `${urlHost(host)}:${port}`;
}

/** The smallest limit of the platforms that have such sockets. */
const MAX_OCTETS = 103;

/** Returns the shorter form of a socket's path. Throws if none is short enough. */
export function socketAddress(path: string): string {
  const near = relative(process.cwd(), path);
  const shorter = near.length > 0 && near.length < path.length ? near : path;
  const length = Buffer.byteLength(shorter);
  if (length <= MAX_OCTETS) return shorter;
  throw new Error(`the path of a socket is at most ${MAX_OCTETS} octets long, this has ${length}`);
}

/** The absolute-form of a request target, which servers must accept as well as proxies.   RFC 9112 §3.2.2 */
const ABSOLUTE = /^https?:\/\/([^/?#]*)/i;

interface AddressedTarget {
  /** The authority; undefined in origin-form. */
  readonly authority: string | undefined;
  /** The target without the authority. */
  readonly relative: string;
}

/** Splits the authority off an absolute-form target. */
export function readAuthority(target: string): AddressedTarget {
  const found = ABSOLUTE.exec(target);
  return { authority: found?.[1], relative: target.slice(found?.[0].length ?? 0) };
}
