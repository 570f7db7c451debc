/** The address of a local socket. Its length is bounded by the system, that of a path is not. */
import { relative } from "node:path";

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
