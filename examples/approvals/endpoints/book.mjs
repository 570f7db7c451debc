export const book = ({ input }) => ({ body: { booked: input.room, guest: input.guest } });
