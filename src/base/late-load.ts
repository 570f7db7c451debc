/**
 * Modules that are loaded late, since they would delay the start. Node remembers a failed module
 * until the process ends, so a moment without file descriptors would disable it for good: loading
 * starts only with descriptors to spare, and is retried after a failure.
 */
import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";

/** Loads something once; a failure is not cached. */
export interface LateLoad<T> {
  (): Promise<T>;
  /** Starts to load in advance; after a failure the next use tries again. */
  prepare(): void;
  /** The promise of the value, if loading has started. */
  readonly begun: Promise<T> | undefined;
}

/** The number of descriptors that the module loader opens at once for the largest part, and some for others. */
const SPARE_DESCRIPTORS = 64;

/** Creates a late load. */
export function loadLate<T>(load: () => Promise<T>): LateLoad<T> {
  let begun: Promise<T> | undefined;
  const begin = (): Promise<T> => {
    if (begun !== undefined) return begun;
    const loading = loadWithRoom(load);
    begun = loading;
    loading.catch(() => {
      if (begun === loading) begun = undefined;
    });
    return loading;
  };
  return Object.defineProperties(begin, {
    prepare: { value: () => void begin().catch(() => undefined) },
    begun: { get: () => begun },
  }) as LateLoad<T>;
}

async function loadWithRoom<T>(load: () => Promise<T>): Promise<T> {
  const fault = findDescriptorFault();
  if (fault !== undefined) throw fault;
  return load();
}

/** Returns an error if too few file descriptors are left to load a module; undefined otherwise. */
export function findDescriptorFault(): Error | undefined {
  const held: number[] = [];
  try {
    while (held.length < SPARE_DESCRIPTORS) held.push(openSync(devNull, "r"));
    return undefined;
  } catch (error) {
    return new Error("there are too few file descriptors left to load it", { cause: error });
  } finally {
    for (const descriptor of held) closeSync(descriptor);
  }
}
