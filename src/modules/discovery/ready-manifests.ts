/**
 * Manifests that are kept ready, those that were asked for last: so many of them, and of so many
 * octets together. Encoding and signing one takes long where there is much in it.
 */
import { LRUCache } from "lru-cache";
import type { ManifestDocument } from "./document.ts";

const MANIFESTS = 16;
const OCTETS = 64 * 1024 * 1024;

/** Manifests by name; one that is longer than all may be is made for each who asks. */
export class ReadyManifests {
  readonly #ready: LRUCache<string, Promise<ManifestDocument>>;

  constructor(octets: number = OCTETS) {
    this.#ready = new LRUCache({ max: MANIFESTS, maxSize: octets });
  }

  /** Those who ask for the same while it is made wait for the same. */
  get(name: string, make: () => Promise<ManifestDocument>): Promise<ManifestDocument> {
    const known = this.#ready.get(name);
    if (known !== undefined) return known;
    const made = make();
    this.#ready.set(name, made, { size: 1 });
    made.then(
      ({ bytes }) => {
        // The same value set again would keep its size.
        this.#ready.delete(name);
        this.#ready.set(name, made, { size: bytes.length });
      },
      // A manifest that could not be made is tried again.
      () => this.#ready.delete(name),
    );
    return made;
  }
}
