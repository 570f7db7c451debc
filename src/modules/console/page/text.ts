/**
 * Texts for people. Strangers' texts keep their characters, but for those that would hide or reorder
 * others: these are written out, so that a reader sees what is really there.
 */

/** Controls, marks of direction, and what is not seen, but for the one that gives a sign its colours. */
const DECEPTIVE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ufff9-\ufffb]|(?!(?<=\p{Extended_Pictographic})\ufe0f)\p{Default_Ignorable_Code_Point}/gu;

/** A stranger's text, with deceptive characters written out. */
export function visible(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return text.replace(DECEPTIVE, (one) => `\\u{${one.codePointAt(0)?.toString(16)}}`);
}

/** A JSON value over several lines. */
export function jsonText(value: unknown): string {
  return visible(JSON.stringify(value, null, 2) ?? "");
}

/** A JSON value to be edited: deceptive characters are written as JSON writes them. */
export function editableJson(value: unknown): string {
  const escaped = (one: string): string => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value, null, 2).replace(DECEPTIVE, (one) =>
    Array.from({ length: one.length }, (_, at) => escaped(one.charAt(at))).join(""),
  );
}

/** The beginning of a long id. */
export function shortId(id: string | null | undefined): string {
  if (id === null || id === undefined || id === "") return "–";
  return id.length > 14 ? `${visible(id.slice(0, 12))}…` : visible(id);
}

/** Two at night is not taken for two in the afternoon, nor is its half of the day cut off. */
const HOURS = { hourCycle: "h23" } as const;
const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: "medium", ...HOURS });
const DAY = new Intl.DateTimeFormat(undefined, {
  ...{ dateStyle: "medium", timeStyle: "medium" },
  ...HOURS,
});
const DAY_OF_YEAR = new Intl.DateTimeFormat(undefined, {
  ...{ month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" },
  ...HOURS,
});
const DATE = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const NUMBER = new Intl.NumberFormat();

/** A moment in the reader's time: the clock alone if it was today. */
export function momentText(time: string | null | undefined): string {
  return momentBy(time, () => DAY);
}

/**
 * Writes a moment where there is little room: without seconds from another day, as a date from another
 * year.
 */
export function shortMomentText(time: string): string {
  return momentBy(time, (moment, now) =>
    moment.getFullYear() === now.getFullYear() ? DAY_OF_YEAR : DATE,
  );
}

function momentBy(
  time: string | null | undefined,
  otherDay: (moment: Date, now: Date) => Intl.DateTimeFormat,
): string {
  if (time === null || time === undefined) return "–";
  const moment = new Date(time);
  if (Number.isNaN(moment.getTime())) return visible(time);
  const now = new Date();
  const isToday = moment.toDateString() === now.toDateString();
  return (isToday ? CLOCK : otherDay(moment, now)).format(moment);
}

const WHOLE = new Intl.DateTimeFormat(undefined, {
  ...{ year: "numeric", month: "short", day: "numeric", hour: "numeric", minute: "2-digit" },
  ...{ second: "2-digit", timeZoneName: "short", ...HOURS },
});

/** A moment with its day and its zone, how far off it is, and as it was written. */
export function wholeMomentText(time: string): string {
  const at = Date.parse(time);
  if (Number.isNaN(at)) return visible(time);
  return `${WHOLE.format(at)}, ${relativeText(at - Date.now())} (${visible(time)})`;
}

/** The distance of a moment in words: `in 5 min`, `3 d 2 h ago`. */
function relativeText(ms: number): string {
  const distance = durationText(Math.abs(ms) / 1000);
  return ms > 0 ? `in ${distance}` : `${distance} ago`;
}

/** A count with its separators. */
export function countText(count: number | null | undefined): string {
  return count === null || count === undefined ? "–" : NUMBER.format(count);
}

/** Milliseconds, as short as they can be told. */
export function millisecondsText(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return "–";
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  return ms >= 10 ? `${Math.round(ms)} ms` : `${ms.toFixed(1)} ms`;
}

/** Seconds as days, hours and minutes; two of them at most. */
export function durationText(seconds: number): string {
  const total = Math.max(0, Math.floor(seconds));
  const parts = [
    [Math.floor(total / 86_400), "d"],
    [Math.floor(total / 3600) % 24, "h"],
    [Math.floor(total / 60) % 60, "min"],
    [total % 60, "s"],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  const shown = parts.slice(first === -1 ? 3 : first).slice(0, 2);
  return shown.map(([count, unit]) => `${count} ${unit}`).join(" ");
}

/** The time until a moment, or that it is over. */
export function untilText(time: string | null | undefined): string {
  const left = Date.parse(time ?? "") - Date.now();
  if (Number.isNaN(left)) return "–";
  return left <= 0 ? "over" : `in ${durationText(left / 1000)}`;
}
