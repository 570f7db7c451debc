/**
 * The hotel's books, in memory: how many rooms of each type there are, which nights are taken, and
 * who holds which reservation. Nothing here knows AGTP.
 */
import { randomUUID } from "node:crypto";

export const ROOMS = {
  single: { count: 24, sleeps: 1, nightlyRate: 89 },
  double: { count: 40, sleeps: 2, nightlyRate: 129 },
  suite: { count: 8, sleeps: 4, nightlyRate: 249 },
} as const;

export type RoomType = keyof typeof ROOMS;

/** ISO dates; the night of `departure` is not slept. */
export interface Stay {
  readonly arrival: string;
  readonly departure: string;
}

export interface Reservation extends Stay {
  readonly id: string;
  readonly roomType: RoomType;
  readonly guestName: string;
  readonly guests: number;
  /** The Agent-ID that made the reservation. */
  readonly bookedBy: string | undefined;
}

const MAX_NIGHTS = 30;
// The books are in memory and agents can be many: full books answer as a full house does.
const MAX_RESERVATIONS = 10_000;

const reservations = new Map<string, Reservation>();
const taken = new Map<string, number>();

/** The nights of a stay, or undefined when the dates make no stay this hotel sells. */
export function nightsOf(stay: Stay, today: string = isoDay(Date.now())): string[] | undefined {
  const first = Date.parse(stay.arrival);
  const count = (Date.parse(stay.departure) - first) / 86_400_000;
  if (!Number.isInteger(count) || count < 1 || count > MAX_NIGHTS || stay.arrival < today) {
    return undefined;
  }
  return Array.from({ length: count }, (_, night) => isoDay(first + night * 86_400_000));
}

/** How many rooms of a type are free on every one of the nights. */
export function roomsFree(roomType: RoomType, nights: readonly string[]): number {
  const busiest = Math.max(...nights.map((night) => taken.get(`${roomType} ${night}`) ?? 0));
  return ROOMS[roomType].count - busiest;
}

/** Enters a reservation and takes its nights; undefined when there is no room left. */
export function enter(
  reservation: Omit<Reservation, "id">,
  nights: readonly string[],
): Reservation | undefined {
  const full = roomsFree(reservation.roomType, nights) < 1;
  if (full || reservations.size >= MAX_RESERVATIONS) return undefined;
  for (const night of nights) take(reservation.roomType, night, 1);
  const entered = { id: randomUUID(), ...reservation };
  reservations.set(entered.id, entered);
  return entered;
}

/** A reservation by its id. */
export function find(id: string): Reservation | undefined {
  return reservations.get(id);
}

/** Strikes a reservation and frees its nights. */
export function strike(reservation: Reservation): void {
  if (!reservations.delete(reservation.id)) return;
  const nights = nightsOf(reservation, reservation.arrival) ?? [];
  for (const night of nights) take(reservation.roomType, night, -1);
}

function take(roomType: RoomType, night: string, by: 1 | -1): void {
  const key = `${roomType} ${night}`;
  const count = (taken.get(key) ?? 0) + by;
  if (count > 0) taken.set(key, count);
  else taken.delete(key);
}

function isoDay(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}
