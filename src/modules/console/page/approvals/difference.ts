/** The differences between two JSON values, member by member, each with its JSON Pointer. */
import { isObject } from "./subject.ts";

/** One place in which two values differ; undefined where one of them has nothing. */
export interface Difference {
  readonly pointer: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** Every difference, in the order of the later value's members. */
export function differencesOf(before: unknown, after: unknown, pointer = ""): Difference[] {
  if (Array.isArray(before) && Array.isArray(after)) {
    return differencesOf({ ...before }, { ...after }, pointer);
  }
  if (!isObject(before) || !isObject(after)) {
    const isSame = JSON.stringify(before) === JSON.stringify(after);
    return isSame ? [] : [{ pointer: pointer === "" ? "/" : pointer, before, after }];
  }
  const names = new Set([...Object.keys(after), ...Object.keys(before)]);
  return [...names].flatMap((name) =>
    differencesOf(own(before, name), own(after, name), `${pointer}/${escapedName(name)}`),
  );
}

function own(value: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(value, name) ? value[name] : undefined;
}

function escapedName(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}
