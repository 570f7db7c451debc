export const cost = () => ({ body: { cost: 4.5 } });
export const stock = () => ({ body: { stock: 120 } });
