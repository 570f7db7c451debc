/**
 * The reservation desk's handlers. Inputs arrive valid under each endpoint's schema; what is left
 * to decide is whether the dates make sense, whether a room is free, and whose reservation it is.
 */
import type { Call, Handler, HandlerError } from "agtpd";
import type { Reservation } from "./ledger.ts";
import { enter, find, nightsOf, ROOMS, type RoomType, roomsFree, strike } from "./ledger.ts";

interface RoomQuery {
  readonly arrival: string;
  readonly departure: string;
  readonly guests?: number;
}

interface BookingInput {
  readonly room_type: RoomType;
  readonly guest_name: string;
  readonly arrival: string;
  readonly departure: string;
  readonly guests: number;
}

/** QUERY /rooms: the room types that are free for the whole stay. */
export const query_rooms: Handler = (call) => {
  const { arrival, departure, guests = 1 } = call.input as unknown as RoomQuery;
  const nights = nightsOf({ arrival, departure });
  if (nights === undefined) return invalidDates(arrival, departure);
  const rooms = (Object.keys(ROOMS) as RoomType[])
    .map((roomType) => ({
      room_type: roomType,
      free: roomsFree(roomType, nights),
      sleeps: ROOMS[roomType].sleeps,
      total_price: ROOMS[roomType].nightlyRate * nights.length,
    }))
    .filter((room) => room.free > 0 && room.sleeps >= guests);
  return { body: { nights: nights.length, currency: "EUR", rooms } };
};

/** BOOK /rooms/{room_type} */
export const book_room: Handler = (call) => {
  const input = call.input as unknown as BookingInput;
  const { room_type: roomType, arrival, departure, guests } = input;
  const nights = nightsOf({ arrival, departure });
  if (nights === undefined) return invalidDates(arrival, departure);
  if (guests > ROOMS[roomType].sleeps) {
    return {
      error: "room_unavailable",
      message: `a ${roomType} sleeps ${ROOMS[roomType].sleeps}, not ${guests}`,
    };
  }
  const guestName = input.guest_name;
  const booking = { roomType, guestName, arrival, departure, guests, bookedBy: call.agentId };
  const reservation = enter(booking, nights);
  if (reservation === undefined) {
    return {
      error: "room_unavailable",
      message: `no ${roomType} is free from ${arrival} to ${departure}`,
      details: { room_type: roomType, nights: nights.length },
    };
  }
  call.log.info({ reservation_id: reservation.id, room_type: roomType }, "room booked");
  return { body: present(reservation) };
};

/** QUERY /reservations/{reservation_id} */
export const query_reservation: Handler = (call) => {
  const reservation = ownReservation(call);
  return reservation === undefined ? reservationNotFound(call) : { body: present(reservation) };
};

/** CANCEL /reservations/{reservation_id} */
export const cancel_reservation: Handler = (call) => {
  const reservation = ownReservation(call);
  if (reservation === undefined) return reservationNotFound(call);
  strike(reservation);
  return { body: { ...present(reservation), status: "cancelled" } };
};

/** An agent sees the reservations it made; the front desk sees all of them. */
function ownReservation(call: Call): Reservation | undefined {
  const reservation = find(String(call.input["reservation_id"]));
  const isDesk = call.scopes.includes("booking:desk");
  return isDesk || reservation?.bookedBy === call.agentId ? reservation : undefined;
}

function present(reservation: Reservation): Record<string, unknown> {
  const nights = nightsOf(reservation, reservation.arrival)?.length ?? 0;
  return {
    reservation_id: reservation.id,
    status: "confirmed",
    room_type: reservation.roomType,
    guest_name: reservation.guestName,
    arrival: reservation.arrival,
    departure: reservation.departure,
    total_price: ROOMS[reservation.roomType].nightlyRate * nights,
    currency: "EUR",
  };
}

function invalidDates(arrival: string, departure: string): HandlerError {
  return {
    error: "invalid_dates",
    message: `"${arrival}" to "${departure}" is no stay: 1 to 30 nights, from today on`,
  };
}

function reservationNotFound(call: Call): HandlerError {
  return {
    error: "reservation_not_found",
    message: `no reservation "${String(call.input["reservation_id"])}" of this agent`,
  };
}
