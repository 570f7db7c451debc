/** The product's version, as package.json has it; a test keeps the two together. */
export const VERSION = "0.1.0";
