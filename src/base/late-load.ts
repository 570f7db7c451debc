/**
 * Parts that are loaded late, because a start would wait for them. Node keeps a module that could
 * not be loaded as failed until the process ends, so that a moment without file descriptors would
 * break a part for good: nothing is begun without descriptors to spare, and what failed is tried
 * again.
 */
import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";

/** Loads something once; a failure is not kept. */
export interface LateLoad<T> {
  (): Promise<T>;
  /** Begins now, when nobody waits: what fails is tried again by whoever needs it. */
  prepare(): void;
  /** The loaded value, or the promise of it. */
  readonly begun: Promise<T> | undefined;
}

/**
 * As many as the loader of modules has open at once for the largest part, and some for the others.
 */
const SPARE_DESCRIPTORS = 64;

/** Wraps what loads. */
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

/** Why the process has too few file descriptors left to load anything; undefined: it has enough. */
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
