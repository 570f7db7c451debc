/** The library for JWTs: loaded by those whose profiles ask for a proof by one. */
import { type LateLoad, loadLate } from "../../../base/late-load.ts";

/** Loads it once. */
export const loadJose: LateLoad<typeof import("jose")> = loadLate(() => import("jose"));
