/** What the file of a handler module may end with, in order of preference. */
export const MODULE_EXTENSIONS = [".ts", ".mts", ".js", ".mjs"] as const;
