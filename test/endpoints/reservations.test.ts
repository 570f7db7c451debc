import { describe, expect, it } from "vitest";
import {
  enter,
  find,
  nightsOf,
  ROOMS,
  roomsFree,
  strike,
} from "../../endpoints/reservations/ledger.ts";
import {
  book_room,
  cancel_reservation,
  query_reservation,
  query_rooms,
} from "../../endpoints/reservations/rooms.ts";
import type { Call, HandlerError, HandlerSuccess } from "../../src/handlers/handler.ts";

const log = { debug() {}, info() {}, warn() {}, error() {} };

function callWith(input: Call["input"], caller: Partial<Call> = {}): Call {
  const absent = { requestedMethod: undefined, ownerId: undefined, principalId: undefined };
  const ids = { trustTier: 2, sessionId: undefined, taskId: undefined, requestId: undefined };
  const place = { method: "BOOK", path: "/rooms/suite", query: {}, headers: {} };
  const dispatch = () => Promise.reject(new Error("not expected"));
  const signal = new AbortController().signal;
  const base = { ...absent, ...ids, ...place, agentId: "a".repeat(64), scopes: [] as string[] };
  return { ...base, signal, log, dispatch, input, ...caller };
}

function booking(arrival: string, departure: string): Call["input"] {
  return { room_type: "suite", guest_name: "Ada", arrival, departure, guests: 2 };
}

describe("nightsOf", () => {
  it("lists the nights slept, without that of the departure", () => {
    const stay = { arrival: "2030-02-27", departure: "2030-03-01" };
    expect(nightsOf(stay, "2030-01-01")).toEqual(["2030-02-27", "2030-02-28"]);
  });

  it.each([
    ["departs before it arrives", "2030-05-06", "2030-05-04"],
    ["has no night", "2030-05-04", "2030-05-04"],
    ["is longer than thirty nights", "2030-05-04", "2030-06-04"],
    ["began before today", "2029-12-31", "2030-01-02"],
    ["has a date that is none", "2030-13-04", "2030-05-06"],
  ])("sells no stay that %s", (_, arrival, departure) => {
    expect(nightsOf({ arrival, departure }, "2030-01-01")).toBeUndefined();
  });
});

describe("the ledger", () => {
  it("has no room left once all of a type are taken, and has one again when one is struck", () => {
    const stay = { arrival: "2031-05-04", departure: "2031-05-06" };
    const nights = nightsOf(stay, "2031-01-01") ?? [];
    const entry = { ...stay, roomType: "suite", guestName: "Ada", guests: 2 } as const;
    const first = enter({ ...entry, bookedBy: undefined }, nights);
    for (let room = 1; room < ROOMS.suite.count; room += 1) {
      expect(enter({ ...entry, bookedBy: undefined }, nights)).toBeDefined();
    }
    expect(roomsFree("suite", nights)).toBe(0);
    expect(enter({ ...entry, bookedBy: undefined }, nights)).toBeUndefined();
    if (first === undefined) throw new Error("the first suite was not free");
    strike(first);
    strike(first);
    expect(roomsFree("suite", nights)).toBe(1);
    expect(find(first.id)).toBeUndefined();
  });
});

describe("the reservation desk", () => {
  it("books a room, shows it to the agent that booked it, and cancels it", async () => {
    const booked = (await book_room(
      callWith(booking("2032-01-01", "2032-01-03")),
    )) as HandlerSuccess;
    expect(booked.body).toMatchObject({ status: "confirmed", total_price: 498, currency: "EUR" });
    const { reservation_id } = booked.body as { reservation_id: string };
    const shown = (await query_reservation(callWith({ reservation_id }))) as HandlerSuccess;
    expect(shown.body).toEqual(booked.body);
    const cancelled = (await cancel_reservation(callWith({ reservation_id }))) as HandlerSuccess;
    expect(cancelled.body).toMatchObject({ reservation_id, status: "cancelled" });
    const again = (await query_reservation(callWith({ reservation_id }))) as HandlerError;
    expect(again.error).toBe("reservation_not_found");
  });

  it("hides a reservation from another agent, but not from the front desk", async () => {
    const booked = (await book_room(
      callWith(booking("2032-02-01", "2032-02-03")),
    )) as HandlerSuccess;
    const { reservation_id } = booked.body as { reservation_id: string };
    const other = { agentId: "b".repeat(64) };
    const hidden = await query_reservation(callWith({ reservation_id }, other));
    expect(hidden).toMatchObject({ error: "reservation_not_found" });
    const desk = { ...other, scopes: ["booking:desk"] };
    const shown = await query_reservation(callWith({ reservation_id }, desk));
    expect(shown).toMatchObject({ body: { reservation_id } });
  });

  it.each([
    ["invalid_dates", booking("2032-01-03", "2032-01-01")],
    [
      "room_unavailable",
      { ...booking("2032-01-01", "2032-01-03"), guests: 4, room_type: "double" },
    ],
  ])("answers with the declared error %s", async (error, input) => {
    expect(await book_room(callWith(input))).toMatchObject({ error });
  });

  it("lists only the room types that sleep the guests", async () => {
    const input = { arrival: "2033-01-01", departure: "2033-01-02", guests: 3 };
    const { body } = (await query_rooms(callWith(input))) as HandlerSuccess;
    expect(body).toMatchObject({ nights: 1, rooms: [{ room_type: "suite", total_price: 249 }] });
  });
});
