/**
 * Formats values for people. Text from strangers keeps its characters, except those that would hide or reorder others:
 * these are escaped, so that a reader sees what is really there.
 */

/** Control, direction and invisible characters, except the variation selector that colours an emoji. */
const DECEPTIVE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ufff9-\ufffb]|(?!(?<=\p{Extended_Pictographic})\ufe0f)\p{Default_Ignorable_Code_Point}/gu;

/** Escapes the deceptive characters of a stranger's text. */
export function visible(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return text.replace(DECEPTIVE, (one) => `\\u{${one.codePointAt(0)?.toString(16)}}`);
}

/** Writes JSON over several lines. */
export function jsonText(value: unknown): string {
  return visible(JSON.stringify(value, null, 2) ?? "");
}

/** Writes JSON for editing; deceptive characters become JSON escapes. */
export function editableJson(value: unknown): string {
  const escaped = (one: string): string => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value, null, 2).replace(DECEPTIVE, (one) =>
    Array.from({ length: one.length }, (_, at) => escaped(one.charAt(at))).join(""),
  );
}

/** Abbreviates a long id. */
export function shortId(id: string | null | undefined): string {
  if (id === null || id === undefined || id === "") return "–";
  return id.length > 14 ? `${visible(id.slice(0, 12))}…` : visible(id);
}

/** A 24-hour clock is unambiguous without a day period, which narrow columns would cut off. */
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

/** Writes a time in the reader's zone, without the date if it is today. */
export function momentText(time: string | null | undefined): string {
  return momentBy(time, () => DAY);
}

/** Writes a time for a narrow column: without seconds on another day, and as a date in another year. */
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

/** Writes a time with date and zone, its distance from now, and its original text. */
export function wholeMomentText(time: string): string {
  const at = Date.parse(time);
  if (Number.isNaN(at)) return visible(time);
  return `${WHOLE.format(at)}, ${relativeText(at - Date.now())} (${visible(time)})`;
}

/** Writes a distance from now: `in 5 min`, `3 d 2 h ago`. */
function relativeText(ms: number): string {
  const distance = durationText(Math.abs(ms) / 1000);
  return ms > 0 ? `in ${distance}` : `${distance} ago`;
}

/** Writes a count with separators. */
export function countText(count: number | null | undefined): string {
  return count === null || count === undefined ? "–" : NUMBER.format(count);
}

/** Writes milliseconds in a short form. */
export function millisecondsText(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return "–";
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  return ms >= 10 ? `${Math.round(ms)} ms` : `${ms.toFixed(1)} ms`;
}

/** Writes seconds as days, hours, minutes and seconds, the two largest at most. */
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

/** Writes the remaining time until a moment, or that it is over. */
export function untilText(time: string | null | undefined): string {
  const left = Date.parse(time ?? "") - Date.now();
  if (Number.isNaN(left)) return "–";
  return left <= 0 ? "over" : `in ${durationText(left / 1000)}`;
}
