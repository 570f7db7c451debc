export const greet = ({ input }) => ({ body: { greeting: `Hello, ${input.name}` } });
