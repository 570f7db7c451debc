/**
 * Addresses that mean something by themselves, whoever looks at one: this machine's own, and those
 * that belong to a link, to nobody or to many.   RFC 6890
 */
import { BlockList, isIP } from "node:net";

/** 127.0.0.0/8 and ::1 in any spelling; no name. */
export function isLoopbackAddress(text: string): boolean {
  return isAmong(text, LOOPBACK);
}

/**
 * Tells whether no service can have an address. Link-local ones are where clouds keep credentials.
 */
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

const LOOPBACK: readonly Subnet[] = [
  ["127.0.0.0", 8, "ipv4"],
  ["::1", 128, "ipv6"],
];

const NOBODYS: readonly Subnet[] = [
  ["0.0.0.0", 8, "ipv4"],
  ["169.254.0.0", 16, "ipv4"],
  ["224.0.0.0", 3, "ipv4"],
  ["::", 128, "ipv6"],
  ["fe80::", 10, "ipv6"],
  ["ff00::", 8, "ipv6"],
];
