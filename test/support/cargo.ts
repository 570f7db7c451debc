/** Octets that go with a message of a link. */
import type { Cargo } from "../../src/base/link.ts";

/** A text of ASCII as cargo. */
export function cargoOf(text: string): Cargo {
  return {
    length: text.length,
    writeTo: (frame, at) => void frame.write(text, at, "latin1"),
  };
}

/** The octets of a cargo, as they arrive. */
export function arrived(cargo: Cargo): Buffer {
  const octets = Buffer.alloc(cargo.length);
  cargo.writeTo(octets, 0);
  return octets;
}
