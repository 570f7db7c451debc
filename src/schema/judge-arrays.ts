/** The keywords that check the items of arrays. */
import type { Judge, JudgeMaker, Judgement, JudgeSurroundings } from "./judgement.ts";
import { hasUniqueItems } from "./keywords-and-formats.ts";
import { weigh } from "./work-meter.ts";

/** The keywords, in the order in which they are checked. */
export const ARRAY_MAKERS: readonly (readonly [string, JudgeMaker])[] = [
  ["minItems", (limit) => atLeast(Number(limit))],
  ["maxItems", (limit) => atMost(Number(limit))],
  ["uniqueItems", (isRequired) => (isRequired === true ? ofArrays(judgeUniqueness) : undefined)],
  ["prefixItems", prefix],
  ["items", rest],
  ["contains", containing],
];

/** `unevaluatedItems`, which runs after every keyword that evaluates items. */
export function judgeUnevaluatedItems(value: unknown, { judgeOf }: JudgeSurroundings): Judge {
  const judge = value === false ? undefined : judgeOf(value);
  return ofArrays((items, at) => {
    const { evaluated } = at;
    const indexes = [evaluated?.items ?? 0, items.length] as const;
    const isValid = judgeItems(items, indexes, at, (item, index) => {
      if (evaluated?.indexes.has(index)) return true;
      if (judge !== undefined) return judge(item, at.child(index));
      return at.fail("unevaluatedItems", `must not have more than ${index} items`);
    });
    evaluated?.countItems(items.length);
    return isValid;
  });
}

function ofArrays(judge: (items: readonly unknown[], at: Judgement) => boolean): Judge {
  return (value, at) => !Array.isArray(value) || judge(value, at);
}

/** Tells whether all items are valid; stops at the first invalid one if only the verdict matters. */
function judgeItems(
  items: readonly unknown[],
  [from, to]: readonly [number, number],
  at: Judgement,
  judge: (item: unknown, index: number) => boolean,
): boolean {
  let isValid = true;
  for (let index = from; index < to; index += 1) {
    at.spend(1);
    if (judge(items[index], index)) continue;
    isValid = false;
    if (at.isSettled) break;
  }
  return isValid;
}

function atLeast(limit: number): Judge {
  const message = `must not have fewer than ${limit} items`;
  return ofArrays(({ length }, at) => length >= limit || at.fail("minItems", message));
}

function atMost(limit: number): Judge {
  const message = `must not have more than ${limit} items`;
  return ofArrays(({ length }, at) => length <= limit || at.fail("maxItems", message));
}

function judgeUniqueness(items: readonly unknown[], at: Judgement): boolean {
  weigh(items, at.meter);
  return hasUniqueItems(items) || at.fail("uniqueItems", "must not have duplicate items");
}

function prefix(value: unknown, { judgeOf }: JudgeSurroundings): Judge | undefined {
  if (!Array.isArray(value)) return undefined;
  const judges = value.map((schema: unknown) => judgeOf(schema));
  return ofArrays((items, at) => {
    const length = Math.min(items.length, judges.length);
    at.evaluated?.countItems(length);
    return judgeItems(items, [0, length], at, (item, index) => {
      return judges[index]?.(item, at.child(index)) ?? true;
    });
  });
}

function rest(value: unknown, { schema, judgeOf }: JudgeSurroundings): Judge {
  const { prefixItems } = schema;
  const from = Array.isArray(prefixItems) ? prefixItems.length : 0;
  const judge = judgeOf(value);
  return ofArrays((items, at) => {
    at.evaluated?.countItems(items.length);
    if (value === false) {
      const message = `must not have more than ${from} items`;
      return items.length <= from || at.fail("items", message);
    }
    return judgeItems(items, [from, items.length], at, (item, index) => {
      return judge(item, at.child(index));
    });
  });
}

function containing(value: unknown, { schema, judgeOf }: JudgeSurroundings): Judge {
  const judge = judgeOf(value);
  const least = Number(schema["minContains"] ?? 1);
  const most = Number(schema["maxContains"] ?? Number.POSITIVE_INFINITY);
  const bounds = most < Number.POSITIVE_INFINITY ? `${least} and no more than ${most}` : `${least}`;
  const message = `must contain at least ${bounds} valid item(s)`;
  return ofArrays((items, at) => {
    let count = 0;
    for (const [index, item] of items.entries()) {
      at.spend(1);
      if (!judge(item, at.child(index).silently())) continue;
      count += 1;
      at.evaluated?.indexes.add(index);
    }
    return (count >= least && count <= most) || at.fail("contains", message);
  });
}
