const PRICES = { tea: 4.5, coffee: 6.9 };
export const price = ({ input }) => ({ body: { price: PRICES[input.item_id] ?? 0 } });
