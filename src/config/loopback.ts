/** Loopback addresses: the only ones where a server may do without certificates and proofs. */
import { BlockList, isIP } from "node:net";

/** 127.0.0.0/8 and ::1 in any spelling, and localhost; every other name may be anywhere. */
export function isLoopbackHost(host: string): boolean {
  const family = isIP(host);
  if (family === 0) return host.toLowerCase() === "localhost";
  const loopback = new BlockList();
  loopback.addSubnet("127.0.0.0", 8, "ipv4");
  loopback.addAddress("::1", "ipv6");
  // The block list knows no zones: `::1%lo` is `::1`.
  const address = host.replace(/%.*$/, "");
  return loopback.check(address, family === 6 ? "ipv6" : "ipv4");
}
