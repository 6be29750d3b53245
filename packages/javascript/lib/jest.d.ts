export { useSpace } from "./vitest.js";
export type { PerTest } from "./vitest.js";
