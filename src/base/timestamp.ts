/** Points in time in ISO 8601 with a zone, which include RFC 3339. */

const TIMESTAMP =
  /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?:Z|([+-]\d\d)(?::?(\d\d))?)$/i;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Returns milliseconds since the epoch; undefined for an invalid text. */
export function readTimestamp(text: string): number | undefined {
  const [, day, clock, second = "0", part = "", hours, minutes = "00"] = TIMESTAMP.exec(text) ?? [];
  // Date.parse would accept the 31st of February as a day in March, and hour 24 as the next day.
  if (day === undefined || clock === undefined || clock > "23:59" || !isDay(day)) return undefined;
  const zone = hours === undefined ? "Z" : `${hours}:${minutes}`;
  const minute = Date.parse(`${day}T${clock}${zone}`);
  // A leap second ends a UTC day; since clocks do not count it, it is the first second of the next
  // day.
  const seconds = (minute + MINUTE_MS) % DAY_MS === 0 ? 61 : 60;
  if (Number.isNaN(minute) || Number(second) >= seconds) return undefined;
  return minute + Number(second) * 1000 + Number(part.slice(0, 3).padEnd(3, "0"));
}

function isDay(text: string): boolean {
  const [year = 0, month = 0, day] = text.split("-").map(Number);
  return Number(day) <= new Date(Date.UTC(year, month, 0)).getUTCDate();
}
